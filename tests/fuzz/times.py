"""What may be different for a time in a group, at the ends and beyond them; and floods of questions.

An administrator edits every group, and carelessly; an editor of a leaf edits its own.
"""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from shared.api.json.reading import write_moment
from shared.api.names import API_VERSION
from tests.fuzz import manifests
from tests.fuzz.actor import MERGE, Actor
from tests.fuzz.manifests import Body

GROUPS: Final = ("red", "blue", "yellow", "green", "green-a", "green-b")
PREVIEWS: Final = "/apis/visibility.quotree.dev/v1alpha1"
_SCHEDULES: Final = (
    "* * * * *", "0 */6 * * *", "*/7 */5 * * *", "0 0 29 2 *",
    "0 0 31 2 *", "59 23 31 12 */7", "0 0 LW * *", "x", f"{'9' * 100} 0 * * *",
    "0 0 1 1 *",
)  # fmt: skip
_ZONES: Final = (None, None, "Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "Europe/Nowhere")
_LENGTHS: Final = ("0s", "1ms", "30s", "5h", "720h", "8784h", "876000h", "999999999h")
_FAR: Final = ("0001-01-01T00:00:00Z", "2400-02-29T00:00:00Z", "9999-12-31T23:59:59Z")
_PERIODS: Final = ("Day", "Week", "Month", "Quarter", "Year", "Total")


def edit_times(actor: Actor) -> None:
    """As the editor of its leaf."""
    group = actor.tenant.group or actor.tenant.groups[0]
    _edit(actor, "edit times", group)


def administrate(actor: Actor) -> None:
    """As an administrator who looks at nothing."""
    _edit(actor, "administrate", actor.random.choice(GROUPS))


def _edit(actor: Actor, what: str, group: str) -> None:
    path = f"/apis/{API_VERSION}/quotagroups/{group}"
    for _ in range(actor.random.choice((1, 1, 1, 8))):
        query = actor.random.choice(("", "", "?dryRun=All"))
        change = {"spec": _change(actor.random, datetime.now(UTC))}
        actor.request(f"{what}{query}", "PATCH", path + query, change, MERGE)


def flood(actor: Actor) -> None:
    """Dry runs and previews, as fast as they are answered."""
    body = manifests.job(actor.random, actor.tenant, actor.new_name("dry"))
    preview = {"apiVersion": PREVIEWS.removeprefix("/apis/"), "kind": "StartPreview", "spec": {"apply": [body]}}
    for _ in range(actor.random.randint(5, 30)):
        if actor.random.random() < 0.5:
            actor.request("dry run", "POST", f"{actor.path('jobs')}?dryRun=All", body)
        else:
            path = f"{PREVIEWS}/namespaces/{actor.tenant.namespace}/startpreviews"
            actor.request("preview", "POST", path, preview)


def _change(random: Random, now: datetime) -> Body:
    """A part of a group's spec in place of what is there."""
    return random.choice(
        (
            lambda: {"overrides": _overrides(random, now)},
            lambda: {"overrides": _overrides(random, now)},
            lambda: {"windows": _windows(random, now)},
            lambda: {"overrides": None, "windows": None, "budgets": None, "stopPolicy": None},
            lambda: {"budgets": [_budget(random) for _ in range(random.choice((1, 2, 17)))]},
            lambda: {"queueing": {"order": random.choice(("Namespace", "User")), "weights": _weights(random)}},
            lambda: {"stopPolicy": random.choice(("None", "None", "Close", "Hold", "HoldAndDrain"))},
            lambda: {"maxRunTime": random.choice((*manifests.RUN_TIMES, None, None, None))},
        )
    )()


def _overrides(random: Random, now: datetime) -> list[Body]:
    """One after the other from now on, and now and then together, in far years, or too many."""
    found: list[Body] = []
    start = now - timedelta(seconds=random.choice((0, 5, 3600)))
    for _ in range(random.choice((1, 1, 2, 3, 33))):
        end = max(start, now) + timedelta(seconds=random.choice((2, 5, 20, 90)))
        found.append({"from": write_moment(start), "until": write_moment(end), **_replaced(random)})
        start = end - timedelta(seconds=random.choice((0, 0, 0, 1)))
    if random.random() < 0.2:
        found.append({"from": random.choice(_FAR), "until": random.choice(_FAR), **_replaced(random)})
    return found


def _windows(random: Random, now: datetime) -> list[Body]:
    """One that opens within the next minute, and others of all sorts."""
    soon = now + timedelta(minutes=1)
    found: list[Body] = [{"schedule": f"{soon.minute} {soon.hour} * * *", "duration": random.choice(("20s", "90s"))}]
    for _ in range(random.choice((0, 0, 1, 7, 20))):
        each = {"schedule": random.choice(_SCHEDULES), "duration": random.choice(_LENGTHS)}
        zone = random.choice(_ZONES)
        found.append(each | ({"timeZone": zone} if zone else {}))
    return [{**each, **_replaced(random)} for each in found]


def _replaced(random: Random) -> Body:
    if random.random() < 0.3:
        return {"stopPolicy": random.choice(("None", "Close", "Hold", "HoldAndDrain"))}
    if random.random() < 0.1:
        return {"budgets": [_budget(random)]}
    named = random.sample(("min", "max", "weight", "borrowingLimit", "lendingLimit"), random.randint(1, 2))
    return {"quotas": [{each: {"cpu": random.choice(_AMOUNTS)} for each in named}]}


_AMOUNTS: Final[tuple[Any, ...]] = (0, 1, 2, 4, 6, 8, 12, 20, 1000, "25%", "100%", "999.999%", "1e18", "-1")


def _budget(random: Random) -> Body:
    return {
        "resource": random.choice(("cpu", "cpu", "cpu", "memory", "pods")),
        "hours": random.choice((0, "1m", "10m", 1, 1000, "1e18", "9" * 60)),
        "period": random.choice(_PERIODS),
        "timeZone": random.choice(("UTC", "Europe/Berlin", "Pacific/Apia")),
        "whenSpent": random.choice(("Warn", "NoBorrow", "NoStart", "Drain")),
    }


def _weights(random: Random) -> Body:
    return {f"team-{each}": random.choice((0, 1, 3, 10**6, -1)) for each in range(random.choice((1, 3, 64, 3000)))}
