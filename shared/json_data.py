"""The type of data that is decoded from JSON, or encoded as JSON, without a type of its own."""

from typing import Any

Json = dict[str, Any]
"""A JSON object: member → value."""
