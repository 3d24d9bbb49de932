"""Read the values of options: capacities, moments, durations. Raises Problem with what is accepted."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any, TypeVar

import click

from cli.read.cluster.live import NotAllowed
from cli.read.cluster.names import complete, namespaces
from shared.api.durations import read_duration as parse_duration
from shared.api.group_selector import GroupSelector, read_group_selector
from shared.problems import Problem
from shared.resources import FlavorResource, QuantityError, read_amount

R = TypeVar("R")
T = TypeVar("T", bound=Callable[..., Any])


def read_capacity(texts: Iterable[str]) -> tuple[tuple[str, str, int], ...]:
    """Read FLAVOR:RESOURCE=QUANTITY,… into (flavor, resource, amount). Raises Problem."""
    found: dict[FlavorResource, int] = {}
    for part in (part.strip() for text in texts for part in text.split(",")):
        key, _, quantity = part.rpartition("=")
        flavor, _, resource = key.partition(":")
        if not (flavor and resource and quantity):
            raise Problem(f"--capacity {part!r} is not FLAVOR:RESOURCE=QUANTITY, such as a100:nvidia.com/gpu=8")
        try:
            amount = read_amount(resource, quantity)
        except QuantityError as error:
            raise Problem(f"--capacity {part!r}: {error}") from error
        if amount < 0:
            raise Problem(f"--capacity {part!r} is negative; a capacity is 0 or more")
        found[FlavorResource(flavor, resource)] = amount
    return tuple((key.flavor, key.resource, amount) for key, amount in found.items())


def read_moment(text: str | None, option: str = "--at") -> datetime:
    """Return the time that an option gives; now when it gives none. Raises Problem."""
    if text is None:
        return datetime.now(UTC)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise Problem(f"{option} {text!r} is not a time; write for example 2026-01-31T12:00:00Z") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def read_duration(text: str) -> timedelta:
    """Return the duration of --step. Raises Problem."""
    step = parse_duration(text)
    if step is None:
        raise Problem(f"--step {text!r} is not a duration; write for example 30s, 5m or 1h30m, at most 876000h")
    return step


def file_arguments(command: T) -> T:
    """Give a command its FILES, which can be named with kubectl's -f as well; it receives both as `files`."""

    @wraps(command)
    def callback(named: tuple[str, ...], filenames: tuple[str, ...], **others: Any) -> Any:
        files = (*named, *filenames)
        if not files:
            raise click.UsageError("Missing argument 'FILES...'.")
        return command(files=files, **others)

    text = "A file or folder, as FILES."
    with_option = click.option("-f", "--filename", "filenames", multiple=True, type=click.Path(), help=text)
    return click.argument("named", metavar="FILES...", nargs=-1, type=click.Path())(with_option(callback))  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class ListScope:
    """What a list is about: one namespace or all (None), and the groups that a label selector takes."""

    namespace: str | None
    groups: GroupSelector

    def within_rights(self, read: Callable[[], R], lists: str) -> R:
        """Read; if the user must not read all namespaces, say that one can be named. `lists`: what is shown of it."""
        try:
            return read()
        except NotAllowed as problem:
            if self.namespace is None:
                raise Problem(f"{problem}; -n NAMESPACE lists {lists} in one namespace") from problem
            raise


def scope_options(command: click.Command) -> click.Command:
    """Give a command kubectl's -n, -A and -l; it receives what they mean as `scope`, a ListScope."""
    act = command.callback

    def callback(namespace: str | None, all_namespaces: bool, selector: str, **others: Any) -> Any:
        scope = _scope(namespace, selector, all_namespaces=all_namespaces)
        return act(scope=scope, **others) if act is not None else None

    command.callback = callback
    text = "A label selector of the label quotree.dev/group."
    known = complete(namespaces)
    command.params.append(click.Option(["-n", "--namespace"], help="Only this namespace.", shell_complete=known))
    command.params.append(click.Option(["-A", "--all-namespaces"], is_flag=True, help="All namespaces, as without -n."))
    command.params.append(click.Option(["-l", "--selector"], default="", help=text))
    return command


def namespace_option(command: T) -> T:
    """Give a command kubectl's -n, of a workload that is named without a namespace; None where it is not given."""
    text = "Of a WORKLOAD without a namespace.  [default: that of the context]"
    return click.option("-n", "--namespace", help=text, shell_complete=complete(namespaces))(command)


def _scope(namespace: str | None, selector: str, *, all_namespaces: bool) -> ListScope:
    if namespace and all_namespaces:
        raise Problem("-n and -A contradict each other; give one of them")
    try:
        return ListScope(namespace, read_group_selector(selector))
    except ValueError as error:
        raise Problem(str(error)) from error
