"""What can go wrong with the image, as one sentence for a person."""


class ImageError(Exception):
    """The image cannot be built or does not work; the text says what happened and what to do."""
