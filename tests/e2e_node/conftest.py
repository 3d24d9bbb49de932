"""One real node for all tests of this folder, in an order that ends with taking Quotree, then the node, away."""

import sys
import time
from collections.abc import Iterator

import pytest

from dev.controlplane.programs import binaries
from dev.image import build, facts
from dev.node.configs import REGISTRIES
from dev.node.machine import requirements
from dev.node.node import Node
from tests.e2e_node.reader import PUSHED, Reader, of_readme
from tests.e2e_node.registry import layer, serving
from tests.e2e_node.site import Site, group

# What the pods of the examples run: `sleep` of the image busybox.
SLEEP = """#!/venv/bin/python -IS
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
time.sleep(float(sys.argv[1]))
"""
FIRST = "test_readme"
# The modules that must come last, in this order; the others come before, as they stand in the folder.
LAST = (
    "test_rights",
    "test_certificates",
    "test_visibility",
    "test_upgrade",
    "test_uninstall",
    "test_values",
    "test_traces",
)
FIGURES = pytest.StashKey[dict[str, str]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {FIRST: -1, **{name: at + 1 for at, name in enumerate(LAST)}}
    items.sort(key=lambda item: order.get(item.path.stem, 0))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if figures := config.stash.get(FIGURES, {}):
        terminalreporter.section("figures of the real node")
        for name, value in figures.items():
            terminalreporter.line(f"{name:<72} {value}")


@pytest.fixture(scope="session")
def site(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A node with the image of these sources, nothing installed yet."""
    if lacks := requirements.missing():
        pytest.skip("NO REAL NODE HERE: " + "; ".join(lacks))
    figures: dict[str, str] = {}
    pytestconfig.stash[FIGURES] = figures
    archive = tmp_path_factory.mktemp("image") / "image.tar"
    built = build.image(_say, tag=facts.tag(), output=archive)
    if built.unpacked is not None:
        figures["image, unpacked"] = f"{built.unpacked / 1e6:.0f} MB"
    started = time.monotonic()
    node = Node(binaries.ensure(_say, node=True), archive, _say)
    with node, serving() as registry:
        figures["node: from nothing to Ready, images there"] = f"{time.monotonic() - started:.1f} s"
        for host in ("docker.io", PUSHED.partition("/")[0]):
            registry.stands_for(host, REGISTRIES)
        registry.push(archive, "docker.io/library/busybox:latest", layer("usr/local/bin/sleep", SLEEP))
        # What README builds and pushes: the same image under another name.
        registry.push(archive, PUSHED)
        yield Site(node, figures)


@pytest.fixture(scope="session")
def reader(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Reader:
    return Reader(site.cluster, tmp_path_factory.mktemp("tools"))


@pytest.fixture(scope="session")
def quotree(site: Site, reader: Reader) -> Site:
    """The chart installed as README says, with default values from a registry, and every process ready."""
    (command,) = of_readme("helm install", "helm install")
    assert PUSHED.rpartition(":")[0] in command
    started = time.monotonic()
    reader.types(command)
    installed = time.monotonic() - started
    site.settle()
    ready = time.monotonic() - started
    site.figures["helm install --wait, as README says"] = f"{installed:.1f} s; all four processes ready {ready:.1f} s"
    return site


@pytest.fixture(scope="session")
def tree(quotree: Site) -> Site:
    """`research` with `vision` and `language`, of 400m cpu each; what is idle of the node's 1400m can be borrowed."""
    promised = [{"min": {"cpu": "400m", "memory": "1Gi"}}]
    groups = [
        group("research", isParent=True, quotas=[{"min": {"cpu": "800m", "memory": "2Gi"}}]),
        group("vision", parent="research", quotas=promised),
        group("language", parent="research", quotas=promised),
    ]
    quotree.open_groups()
    quotree.settle()
    done = quotree.apply(*groups)
    assert done.returncode == 0, done.stderr
    quotree.until("the tree has been measured", lambda: bool(quotree.get("quotagroup", "vision").get("status")))
    return quotree


@pytest.fixture
def clean(tree: Site) -> Iterator[Site]:
    """The tree, every process ready before the test, and all Jobs taken away after it."""
    tree.settle()
    yield tree
    tree.clear()


def _say(line: str) -> None:
    print(line, file=sys.__stderr__, flush=True)
