"""Workflow commands of GitHub, which CI shows beside the lines of a file."""


def annotation(level: str, file: str, line: int, title: str, message: str) -> str:
    """Return one command; `level` is error or warning."""
    return f"::{level} file={_property(file)},line={line},title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
