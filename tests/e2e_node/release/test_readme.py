"""README's commands in its order, on a cluster with one small node that pulls from a registry."""

import time
from collections.abc import Iterator

import pytest

from tests.e2e_node.reader import README, Reader, of_readme
from tests.e2e_node.site import Site

INSTALLED = "helm install"
GROUPS = ("vision", "language", "research", "serving")


def test_image_is_built_under_the_name_that_is_pushed_and_installed() -> None:
    built, pushed, installed = of_readme("make image", INSTALLED)
    name = pushed.rpartition(" ")[2]
    assert built == f"make image TAG={name}"
    assert f"--set image.repository={name.rpartition(':')[0]} " in f"{installed} "


@pytest.fixture
def empty(quotree: Site) -> Iterator[Site]:
    """No group and no Job, before and after."""
    yield quotree
    quotree.clear()
    quotree.kubectl("delete", "quotagroups", "--ignore-not-found", *GROUPS)


def test_readme_commands_lead_from_installation_to_a_governed_job(empty: Site, reader: Reader) -> None:
    started = time.monotonic()
    printed: dict[str, str] = {}
    for command in README[README.index(of_readme(INSTALLED, INSTALLED)[0]) + 1 :]:
        if command == "kubectl quotree tree":
            empty.until("both examples run", lambda: empty.running("large", "small"))
            empty.figures["README: from the installed chart to running Jobs, with the command line"] = (
                f"{time.monotonic() - started:.1f} s"
            )
        printed[command] = reader.types(command)

    assert "client: 0." in printed["quotree version"]
    assert "large" in printed["kubectl get jobs"]
    assert "vision" in printed["kubectl quotree tree"]


def test_helm_test_reaches_both_processes(quotree: Site) -> None:
    message = quotree.helm("test", "quotree").stdout
    assert message.count("Phase:          Succeeded") == 2, message
