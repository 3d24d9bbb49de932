"""Prints a simulation as text: the groups' numbers, then each cycle, then pending workloads with reasons."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from shared.text.quantities import readable

_NUMBERS: Final = ("min", "effectiveMin", "guarantee", "ceiling", "request", "used", "charge", "demand", "runtime")
_WIDE: Final = 200


def draw(data: Mapping[str, Any]) -> None:
    """Print everything to standard output."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDE)
    console.print(_groups(data["groups"]))
    for line in _lines(data):
        console.print(line, markup=False)


def _groups(groups: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("GROUP", no_wrap=True)
    table.add_column("FLAVOR/RESOURCE", no_wrap=True)
    for title in _NUMBERS:
        table.add_column(title, justify="right", no_wrap=True)
    for name, flavors in groups.items():
        for flavor, resources in flavors.items():
            for resource, numbers in resources.items():
                amounts = (readable(resource, numbers[title]) for title in _NUMBERS)
                table.add_row(name, f"{flavor}/{resource}", *amounts)
    return table


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    for number, cycle in enumerate(data["cycles"], 1):
        yield f"\nCycle {number}"
        for each in cycle["evicted"]:
            preemptor = f" for {each['for']}" if each.get("for") else ""
            yield f"  evict {each['workload']} of {each['group']}: {each['reason']}{preemptor}"
        for each in cycle["admitted"]:
            yield f"  start {each['workload']} of {each['group']} on {_flavors(each)} ({each['tier']})"
    if data["pending"]:
        yield "\nWaiting"
    for each in data["pending"]:
        lacks = f", {each['binding']} lacks {_lack(each)}" if each.get("missing") else ""
        yield f"  {each['workload']} of {each['group']}: {each['reason']}{lacks}"
    for title in ("violations", "warnings"):
        if data[title]:
            yield f"\n{title.capitalize()}"
        for each in data[title]:
            yield f"  {each['object']} {each['field']}: {each['message']} ({each['rule']})"


def _flavors(start: Mapping[str, Any]) -> str:
    if "podSets" in start:
        return "; ".join(f"{name}: {_names(own)}" for name, own in start["podSets"].items())
    return _names(start["flavors"])


def _names(flavors: Mapping[str, str]) -> str:
    return ", ".join(sorted(set(flavors.values()))) or "no flavor"


def _lack(waiting: Mapping[str, Any]) -> str:
    amount = readable(waiting["resource"], waiting["missing"])
    return f"{amount} of {waiting['flavor']}/{waiting['resource']}"
