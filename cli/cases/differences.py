"""How what happened differs from what a case expects: a sentence for each difference."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cli.cases.case_file import Expected, Quantity, full_name
from cli.cases.outcome import CaseOutcome
from shared.quota.decide.decisions import Evict
from shared.quota.measure.group_usage import GroupNumbers
from shared.quota.measure.report import report_of
from shared.resources import QuantityError, read_amount, write_quantity


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case that was tried."""

    file: str
    line: int
    name: str
    differences: tuple[str, ...]
    """Empty: it is as expected."""


def differences(expected: Expected, outcome: CaseOutcome) -> Iterator[str]:
    """Yield each difference, the causes before what follows from them."""
    for violation in outcome.broken:
        yield f"the tree or the load is illegal: {violation.text}"
    if not outcome.stable:
        yield "the world does not come to rest: raise nothing that starts and stops again without end"
    yield from _refusals(expected.refuses, outcome)
    yield from _starts(expected.starts, outcome)
    yield from _evictions(expected.evicts, outcome)
    yield from _waits(expected.waits, outcome)
    for group, flavors in expected.numbers.items():
        yield from _numbers(group, flavors, outcome.numbers.get(group))


def _refusals(expected: Mapping[str, list[str]] | None, outcome: CaseOutcome) -> Iterator[str]:
    found: dict[str, set[str]] = defaultdict(set)
    for each in outcome.refused:
        found[each.object].add(each.rule)
    wanted = {name: set(rules) for name, rules in (expected or {}).items()}
    for name in sorted(wanted):
        for rule in sorted(wanted[name] - found[name]):
            yield f"refuses: {name} is not refused by {rule}"
    for each in outcome.refused:
        if each.rule not in wanted.get(each.object, ()):
            yield f"refuses: {each.object} is refused: {each.text}"


def _starts(expected: list[str] | None, outcome: CaseOutcome) -> Iterator[str]:
    if expected is None:
        return
    wanted = {full_name(each) for each in expected}
    for name in sorted(wanted - outcome.starts.keys()):
        yield f"starts: {name} does not start{_because(name, outcome)}"
    for name in sorted(outcome.starts.keys() - wanted):
        yield f"starts: {name} starts, of group {outcome.starts[name].group!r}"


def _because(name: str, outcome: CaseOutcome) -> str:
    why = outcome.waits.get(name)
    return f", it waits: {why.message}" if why is not None else "; there is no such pending workload"


@dataclass(frozen=True, slots=True)
class _Happened:
    """What happened to one workload: the stable word for why, and a sentence about it without its name."""

    reason: str
    sentence: str


def _evictions(expected: Mapping[str, str] | None, outcome: CaseOutcome) -> Iterator[str]:
    def happened(evict: Evict) -> _Happened:
        preemptor = f" for {evict.claim.preemptor}" if evict.claim is not None else ""
        return _Happened(evict.reason.value, f"is evicted{preemptor} ({evict.reason.value})")

    found = {name: happened(each) for name, each in outcome.evictions.items()}
    return _by_reason("evicts", "is not evicted", expected, found)


def _waits(expected: Mapping[str, str] | None, outcome: CaseOutcome) -> Iterator[str]:
    found = {
        name: _Happened(each.reason.value, f"waits ({each.reason.value}): {each.message}")
        for name, each in outcome.waits.items()
    }
    return _by_reason("waits", "does not wait", expected, found)


def _by_reason(
    member: str, otherwise: str, expected: Mapping[str, str] | None, found: Mapping[str, _Happened]
) -> Iterator[str]:
    """Compare workload → reason with what happened; `otherwise`: what is said of a workload to which nothing did."""
    wanted = {full_name(name): reason for name, reason in (expected or {}).items()}
    for name in sorted(wanted.keys() | found.keys()) if expected is not None else ():
        if name not in found:
            yield f"{member}: {name} {otherwise}"
        elif name not in wanted:
            yield f"{member}: {name} {found[name].sentence}"
        elif found[name].reason != wanted[name]:
            yield f"{member}: {name} {found[name].sentence}, not {wanted[name]}"


def _numbers(
    group: str, flavors: Mapping[str, Mapping[str, Mapping[str, Quantity]]], found: GroupNumbers | None
) -> Iterator[str]:
    if found is None:
        yield f"numbers: there is no group {group!r}"
        return
    report = report_of(found)
    for flavor, resources in flavors.items():
        for resource, words in resources.items():
            place = f"{group} {flavor}/{resource}"
            known = report.get(flavor, {}).get(resource)
            if known is None:
                yield f"numbers: {place} has no numbers: no entry of the group names it"
                continue
            for word, quantity in words.items():
                yield from _number(f"{place} {word}", known.get(word), resource, quantity, known)


def _number(place: str, found: int | None, resource: str, wanted: Quantity, known: Mapping[str, int]) -> Iterator[str]:
    if found is None:
        yield f"numbers: {place} is no number; there are {', '.join(known)}"
        return
    try:
        amount = read_amount(resource, wanted)
    except QuantityError as error:
        yield f"numbers: {place}: {error}"
        return
    if found != amount:
        yield f"numbers: {place} is {write_quantity(resource, found)}, not {wanted}"
