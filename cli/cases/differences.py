"""How what happened differs from what a case expects: a sentence for each difference."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cli.cases.case_file import Expected, Quantity, full_name
from cli.cases.outcome import CaseOutcome
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


def _evictions(expected: Mapping[str, str] | None, outcome: CaseOutcome) -> Iterator[str]:
    if expected is None:
        return
    wanted = {full_name(name): reason for name, reason in expected.items()}
    for name, reason in sorted(wanted.items()):
        found = outcome.evictions.get(name)
        if found is None:
            yield f"evicts: {name} is not evicted"
        elif found.reason.value != reason:
            yield f"evicts: {name} is evicted for {found.reason.value}, not for {reason}"
    for name in sorted(outcome.evictions.keys() - wanted.keys()):
        found = outcome.evictions[name]
        preemptor = f" for {found.claim.preemptor}" if found.claim is not None else ""
        yield f"evicts: {name} is evicted{preemptor} ({found.reason.value})"


def _waits(expected: Mapping[str, str] | None, outcome: CaseOutcome) -> Iterator[str]:
    if expected is None:
        return
    wanted = {full_name(name): reason for name, reason in expected.items()}
    for name, reason in sorted(wanted.items()):
        found = outcome.waits.get(name)
        if found is None:
            yield f"waits: {name} does not wait"
        elif found.reason.value != reason:
            yield f"waits: {name} waits for {found.reason.value}, not for {reason}: {found.message}"
    for name in sorted(outcome.waits.keys() - wanted.keys()):
        yield f"waits: {name} waits: {outcome.waits[name].message}"


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
