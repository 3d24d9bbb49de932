"""What the pages of the documentation tell a reader to type, for the tests that type it."""

import re

from tests.project.repository import ROOT

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FIRST_WORDS = ("make", "docker", "helm", "uv", "kubectl", "quotree")


def blocks(page: str, language: str = "") -> list[str]:
    """The fenced blocks of a page that are marked with this language; by default those without a mark."""
    return [text for found, text in BLOCK.findall((ROOT / page).read_text()) if found == language]


def commands(page: str) -> list[str]:
    """The commands of a page's plain fenced blocks, continued lines joined."""
    joined = [block.replace("\\\n", " ") for block in blocks(page)]
    lines = (line.split("  #")[0].strip() for block in joined for line in block.splitlines())
    return [re.sub(r"\s+", " ", line) for line in lines if line.split(" ")[0] in FIRST_WORDS]
