"""Read the overrides and windows of a QuotaGroup; one whose times cannot be read is left out, and reported."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from shared.api.json.reading import read_time
from shared.api.json.unread import BAD_FIELD, BAD_SCHEDULE, UNKNOWN_ZONE, Unread
from shared.api.quotagroup import OverrideSpec, QuotaGroupSpec, WindowSpec
from shared.quota.model.budgets.budget import Budget
from shared.quota.model.in_force.schedules import BadSchedule, check_schedule, read_zone
from shared.quota.model.read.budgets import read_budgets
from shared.quota.model.read.fields import duration_of, entries_of, word_of
from shared.quota.model.tree import UTC_NAME, WRITTEN_POLICIES, Entry, Override, StopPolicy, Window


def overrides_of(spec: QuotaGroupSpec, found: list[Unread]) -> Iterator[Override]:
    """Yield the overrides."""
    for at, each in enumerate(spec.overrides):
        field = f"spec.overrides[{at}]"
        start, end = _moment(each.start, f"{field}.from", found), _moment(each.until, f"{field}.until", found)
        said = _said(each, field, found)
        if start is not None and end is not None:
            yield Override(start, end, *said, each.reason, _notice_before(each, field, found))


def windows_of(spec: QuotaGroupSpec, found: list[Unread]) -> Iterator[Window]:
    """Yield the windows."""
    for at, each in enumerate(spec.windows):
        field = f"spec.windows[{at}]"
        duration = duration_of(each.duration, f"{field}.duration", found)
        zone = _zone(each.time_zone, f"{field}.timeZone", found)
        schedule = _schedule(each.schedule, f"{field}.schedule", found)
        said = _said(each, field, found)
        if duration is not None and zone is not None and schedule is not None:
            yield Window(schedule, duration, zone, *said, each.reason, _notice_before(each, field, found))


def _said(
    each: OverrideSpec | WindowSpec, field: str, found: list[Unread]
) -> tuple[tuple[Entry, ...], StopPolicy | None, tuple[Budget, ...]]:
    quotas = entries_of(each.quotas, f"{field}.quotas", found)
    stop_policy = word_of(each.stop_policy, WRITTEN_POLICIES, f"{field}.stopPolicy", found)
    return quotas, stop_policy, read_budgets(each.budgets, f"{field}.budgets", found)


def _notice_before(each: OverrideSpec | WindowSpec, field: str, found: list[Unread]) -> timedelta:
    return duration_of(each.notice_before, f"{field}.noticeBefore", found) or timedelta()


def _moment(text: str, field: str, found: list[Unread]) -> datetime | None:
    moment = read_time(text)
    if moment is None:
        message = f"is {text!r:.60}; write a moment with its zone, such as 2027-01-31T18:00:00Z"
        found.append(Unread(BAD_FIELD, field, message))
    return moment


def _zone(name: str | None, field: str, found: list[Unread]) -> str | None:
    if name is None or read_zone(name) is not None:
        return name or UTC_NAME
    message = f"{name!r:.60} is no time zone; write a name of the IANA database such as Europe/Berlin, or leave it out"
    found.append(Unread(UNKNOWN_ZONE, field, f"{message} for UTC"))
    return None


def _schedule(text: str, field: str, found: list[Unread]) -> str | None:
    try:
        check_schedule(text)
    except BadSchedule as error:
        found.append(Unread(BAD_SCHEDULE, field, f"{text!r:.60}: {error}; write one such as 0 20 * * 1-5"))
        return None
    return text
