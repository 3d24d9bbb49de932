"""A group's page, apart: what the group will use over the coming day, or why that is not known."""

from collections.abc import Iterator
from typing import Final

from dashboard.view.frame import Frame
from dashboard.view.tree import unit_of
from shared.json_data import Json
from shared.quota.measure.accounts.written_accounts import run_times_of
from shared.quota.outlook.forecast.expected_use import ExpectedUse, expected_use
from shared.quota.outlook.forecast.forecast import Unforeseen
from shared.quota.outlook.forecast.run_times import PERCENT
from shared.resources import FlavorResource
from shared.text.quantities import readable

_WHY_UNKNOWN: Final = {
    Unforeseen.RUN_TIMES_UNKNOWN: "Not known: more than half of what its workloads use and request is by workloads of "
    "unknown run time. The annotation quotree.dev/expected-run-time says how long they take.",
    Unforeseen.TOO_FAR: "Not known: so much starts and ends that the forecast's steps do not reach an hour ahead.",
}


def ahead(frame: Frame, name: str, key: FlavorResource) -> Json:
    """Return what a group will use of one flavor and resource; it takes as long as a forecast of a workload."""
    nothing: Json = {"unit": unit_of(key.resource), "times": [], "least": [], "middle": [], "most": []}
    if frame.outlook is None:
        return nothing | {"text": "That is computed from all workloads and nodes, which you cannot see."}
    if frame.outlook.leaderless_since is not None:
        return nothing | {"text": "Not known: no reconciler leads, so that nothing starts."}
    known = run_times_of((group, each.status) for group, each in frame.groups.items())
    found = expected_use(frame.outlook.after, name, key, known)
    if found is None:
        return nothing | {"text": "Forecasts are switched off."}
    if isinstance(found, Unforeseen):
        return nothing | {"text": _WHY_UNKNOWN[found]}
    return nothing | {
        "times": [each.timestamp() for each in found.times],
        "least": list(found.least),
        "middle": list(found.middle),
        "most": list(found.most),
        "text": " ".join(_assumed(found, key)),
    }


def _assumed(found: ExpectedUse, key: FlavorResource) -> Iterator[str]:
    yield f"It lies between the two curves in {PERCENT} % of the cases."
    yield "Others come as of late." if found.comes else "Nothing else comes: what came of late is not known."
    if found.unknown:
        yield f"Workloads with {readable(key.resource, found.unknown)} are of unknown run time, and taken to run on."
    if found.is_cut:
        yield "What comes later is too far for the forecast's steps."
