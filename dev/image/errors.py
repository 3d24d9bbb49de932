"""Errors of the image, with a one-line message."""


class ImageError(Exception):
    """The image cannot be built or does not work; the text says what happened and what to do."""
