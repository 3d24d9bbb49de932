"""docs/architecture.md names only rooms, files and functions that exist, and every room."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text()
PRODUCT = ("cli", "dashboard", "reconciler", "shared", "webhook")
MODULES = {
    path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path
    for package in PRODUCT
    for path in (ROOT / package).rglob("*.py")
}
HOPS = sorted(set(re.findall(r"`((?:\w+\.)+\w+)`(?: →|\n| →\n)", PAGE.split("## Five flows")[1])))


def _names(path: Path) -> set[str]:
    """Functions and `Class.method`s of a module."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
            found.update(f"{node.name}.{each.name}" for each in methods)
    return found


def _exists(hop: str) -> bool:
    parts = hop.split(".")
    for cut in (1, 2):
        module, name = ".".join(parts[:-cut]), ".".join(parts[-cut:])
        matching = (path for known, path in MODULES.items() if known == module or known.endswith(f".{module}"))
        if any(name in _names(path) for path in matching):
            return True
    return False


def test_architecture_page_lists_hops() -> None:
    assert len(HOPS) > 20


@pytest.mark.parametrize("hop", HOPS)
def test_each_hop_of_a_flow_exists_in_the_code(hop: str) -> None:
    assert _exists(hop)


def test_each_room_and_file_on_the_page_exists() -> None:
    named = re.findall(r"`((?:cli|dev|reconciler|shared|webhook)/[\w/.]*)`", PAGE)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_each_room_documents_its_contents() -> None:
    rooms = {path.parent for path in MODULES.values()}
    assert [
        room for room in sorted(rooms) if not ast.get_docstring(ast.parse((room / "__init__.py").read_text()))
    ] == []


def test_no_room_has_more_than_a_dozen_modules() -> None:
    rooms = Counter(path.parent for path in MODULES.values() if path.stem != "__init__")
    assert {room.relative_to(ROOT).as_posix(): number for room, number in rooms.items() if number > 12} == {}


_SORTS = {"Job", "Pod", "KindObject"}


def _asks_for_a_sort(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
        return bool(_SORTS & {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)})
    return isinstance(node, ast.MatchClass) and ast.unparse(node.cls) in _SORTS


def test_only_adapters_know_which_sort_a_workload_is_of() -> None:
    """What differs between Jobs, pods and objects of governed kinds is in their adapters: docs/contributing.md."""
    asking = [
        f"{name}:{node.lineno}"
        for name, path in MODULES.items()
        if name.startswith(("reconciler.", "shared.cluster.", "webhook.", "dashboard.")) and ".sorts." not in name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call | ast.MatchClass) and _asks_for_a_sort(node)
    ]
    assert asking == []


_MOST_ATTRIBUTES = 12
_DECIDE_AND_OUTLOOK = sorted(
    path for room in ("decide", "outlook") for path in (ROOT / "shared/quota" / room).rglob("*.py")
)


def _attributes(node: ast.ClassDef) -> set[str]:
    """Names that a class annotates, has slots for, or assigns to `self`."""
    slots = (
        each.value for each in node.body if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "__slots__"
    )
    return {
        *(ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)),
        *(name for each in slots for name in ast.literal_eval(each)),
        *(
            each.attr
            for each in ast.walk(node)
            if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and ast.unparse(each.value) == "self"
        ),
    }


def _is_record(node: ast.ClassDef) -> bool:
    """Return whether its objects say what something is, and never change: as many fields as that has."""
    bases = {ast.unparse(each).rpartition(".")[2] for each in node.bases}
    frozen = any("frozen=True" in ast.unparse(each) for each in node.decorator_list)
    return frozen or bool(bases & {"Struct", "View", "_Entry", "NamedTuple", "Enum", "StrEnum"})


def test_no_object_with_state_has_more_than_a_dozen_attributes() -> None:
    """It is made of parts that mean something. A step of a cycle is given the parts that it reads and changes."""
    large = {
        node.name: len(_attributes(node))
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and not _is_record(node) and len(_attributes(node)) > _MOST_ATTRIBUTES
    }
    assert large == {}


def test_only_the_plan_uses_all_parts_of_a_round() -> None:
    named = {
        path.stem
        for path in _DECIDE_AND_OUTLOOK
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name) and node.id == "Round"
    }
    assert named == {"plan", "rounds"}
