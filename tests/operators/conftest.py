"""A namespace of a test's own; each file starts its own control plane and operator."""

import sys

import pytest

from dev.controlplane.programs import binaries
from dev.operators import building


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what each file's OPERATORS name before the first test: a first build takes longer than a test may."""
    modules = {getattr(item, "module", None) for item in session.items}
    needed = {operator.name: operator for module in modules for operator in getattr(module, "OPERATORS", ())}
    if needed and not session.config.option.collectonly:
        programs = binaries.ensure(_say)
        for operator in needed.values():
            building.ensure(operator, programs, _say)


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> str:
    """The name of one that the test makes."""
    return str(request.node.name.replace("_", "-").replace("[", "-").replace("]", "")[:60].rstrip("-"))


def _say(line: str) -> None:
    print(line, file=sys.__stderr__, flush=True)
