"""Prints what a descriptor reads from a sample object, and how the object changes, as text."""

import difflib
from collections.abc import Iterator
from typing import Any, Final

import click
import yaml

from cli.read.kinds.kind_samples import Sample
from shared.quota.model.tree import Amounts
from shared.text.quantities import readable

_CONTEXT: Final = 2
"""Unchanged lines beside each change."""


def draw_sample(sample: Sample) -> None:
    """Print what was read from one object, and how it changes when it is held and started."""
    for line in _sample_lines(sample):
        click.echo(line)


def _sample_lines(sample: Sample) -> Iterator[str]:
    yield f"{sample.name} ({sample.where})"
    yield from (f"  cannot be read: {problem}" for problem in sample.problems)
    yield from (f"  warning: {warning}" for warning in sample.warnings)
    if sample.seen is None:
        return
    if sample.seen.skipped:
        yield "  is not ours: the descriptor skips it"
        return
    yield from (f"  refused: {refusal}" for refusal in sample.seen.refusals)
    words = {"suspended": sample.seen.suspended, "noted": sample.seen.noted}
    if sample.seen.kind.stopped:
        words["stopped"] = sample.seen.stopped
    words["finished"] = sample.seen.finished
    yield "  " + ", ".join(f"{word}: {'yes' if so else 'no'}" for word, so in words.items())
    if sample.seen.kind.gate is not None:
        yield f"  groups of pods: {sample.seen.groups}, each:"
    for each in sample.sets:
        yield f"  pod set {each.name}: {each.pods} x {_amounts(each.one)} = {_amounts(each.all)}  ({each.at})"
    if sample.before is not None:
        yield from _changes("held", sample.before, sample.held)
        yield from _changes("started", sample.held, sample.started)


def _amounts(amounts: Amounts) -> str:
    return ", ".join(f"{key} {readable(key, amount)}" for key, amount in sorted(amounts.items())) or "nothing"


def _changes(title: str, before: Any, after: Any) -> Iterator[str]:
    was, now = _lines(before), _lines(after)
    if was == now:
        yield f"  {title}: nothing changes"
        return
    yield f"  {title}:"
    for line in list(difflib.unified_diff(was, now, lineterm="", n=_CONTEXT))[2:]:
        yield f"    {line}"


def _lines(body: Any) -> list[str]:
    text: str = yaml.dump(body, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
    return text.splitlines()
