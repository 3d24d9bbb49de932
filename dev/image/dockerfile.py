"""What the Dockerfile says about a container of the image, for the builder that works without a container engine."""

import json
import shlex
from pathlib import Path
from typing import Any

DOCKERFILE = Path(__file__).parent.parent.parent / "Dockerfile"


def settings(text: str) -> dict[str, Any]:
    """Return the `config` part of an OCI image: LABEL, ENV, USER, CMD of the last stage.

    Other instructions are not read.
    """
    found: dict[str, Any] = {}
    for word, rest in _last_stage(text):
        if word == "LABEL":
            found["Labels"] = dict(pair.split("=", 1) for pair in shlex.split(rest))
        elif word == "ENV":
            found["Env"] = shlex.split(rest)
        elif word == "USER":
            found["User"] = rest
        elif word in ("CMD", "ENTRYPOINT"):
            found[word.capitalize()] = json.loads(rest)
    return found


def _last_stage(text: str) -> list[tuple[str, str]]:
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]
    instructions = [line.split(None, 1) for line in lines]
    last = max(index for index, (word, _) in enumerate(instructions) if word == "FROM")
    return [(word, rest.strip()) for word, rest in instructions[last + 1 :]]
