"""A workload's page: what happened to it, why it waits or on what its place rests, who holds what it waits for.


The sentences are those that `quotree explain` prints. A user who does not see everything gets the explanation of the
visibility API, or else the last event about the workload.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dashboard.view.frame import Frame
from dashboard.view.pages.edits import edits_of
from dashboard.view.pages.group import UnknownName
from shared.json_data import Json
from shared.quota.decide.decisions import EvictionRule
from shared.quota.measure.accounts.written_accounts import run_times_of
from shared.quota.model.workload import Workload, flavor_names
from shared.quota.outlook.advise.remedy import NO_ADVICE
from shared.quota.outlook.explain.explanation import WorkloadExplanation
from shared.quota.outlook.forecast.forecast import forecast_as_data
from shared.text.explanation import (
    entitlement_text,
    eviction_text,
    flavor_name,
    missing_text,
    order_text,
    running_lines,
)
from shared.text.forecast import forecast_text
from shared.text.holders import fate_text, named
from shared.text.quantities import readable
from shared.text.remedies import remedy_text

_FEW_RIGHTS: Final = "Your rights do not show everything that the reason depends on; this is what {source} says."


@dataclass(frozen=True, slots=True)
class Told:
    """What others say about a workload whose explanation cannot be computed here: an explanation, or one sentence."""

    source: str
    data: Json | None = None
    sentence: str = ""


def workload_page(frame: Frame, kind: str, key: str, *, with_remedies: bool, told: Told | None = None) -> Json:
    """Return the page of one workload; remedies and a forecast take longer, for each is tried. Raises UnknownName."""
    workload = frame.find(kind, key)
    if workload is None:
        raise UnknownName(f"there is no {kind} {key!r} that names a group and has not ended, or it is not shown to you")
    outlook = frame.outlook
    if outlook is None:
        return _told_page(frame, workload, told or Told("nobody"))
    explanation = outlook.explanation(workload)
    advice = outlook.advice(explanation) if with_remedies else NO_ADVICE
    data = outlook.as_data(explanation, advice)
    if with_remedies:
        known = run_times_of((name, each.status) for name, each in frame.groups.items())
        found = forecast_as_data(outlook, [workload], known)
        data |= {"forecast": found[workload.id]} if found else {}
    return _page(frame, workload, data, _kinds(explanation))


def _told_page(frame: Frame, workload: Workload, told: Told) -> Json:
    source = _FEW_RIGHTS.format(source=told.source)
    if told.data is not None:
        return _page(frame, workload, told.data, {}) | {"incomplete": True, "source": source}
    state = "Pending" if workload.is_pending else "Evicting" if workload.is_evicting else "Running"
    bare = {"message": told.sentence, "state": state, "flavors": [], "remedies": [], "position": 0}
    return _page(frame, workload, bare, {}) | {"incomplete": True, "source": source}


def _page(frame: Frame, workload: Workload, data: Json, kinds: Mapping[str, str]) -> Json:
    running = data.get("admission")
    return {
        "frame": frame.number,
        "workload": workload.key,
        "kind": workload.kind,
        "group": workload.group,
        "state": data["state"],
        "sentence": _sentence(workload, data),
        "incomplete": False,
        "source": "",
        "facts": [*_facts(workload, data)],
        "timeline": _timeline(workload, data, frame.now),
        "flavors": [_flavor(each, kinds) for each in data["flavors"] if each["binding"] or each.get("refused")],
        "remedies": [
            {"do": each["do"], "text": remedy_text(each), "edits": edits_of(frame.world.tree, each)}
            for each in data["remedies"]
        ],
        "startsAt": data.get("startsAt"),
        "running": [line.strip() for line in running_lines(running)] if running else [],
    }


def _kinds(explanation: WorkloadExplanation) -> Mapping[str, str]:
    """Return the kind of each holder by its key, for its address."""
    return {each.workload.key: each.workload.kind for flavor in explanation.flavors for each in flavor.holders}


def _sentence(workload: Workload, data: Json) -> str:
    """Return the message without the name, which the page has as its title, or the time, which is in its timeline."""
    text: str = data["message"].removeprefix(f"{workload.kind} {workload.key!r} ")
    if data["state"] == "Running" and workload.admission is not None and data.get("admission"):
        flavors = ", ".join(sorted(flavor_names(workload.admission.flavors)))
        text = f"runs on {flavors}: {next(running_lines(data['admission']))}"
    return text[:1].upper() + text[1:]


def _facts(workload: Workload, data: Json) -> Iterator[tuple[str, str]]:
    yield "Group", workload.group
    yield "Requests", ", ".join(f"{readable(name, each)} {name}" for name, each in sorted(workload.request.items()))
    source = f" ({workload.priority_source})" if workload.priority_source else ""
    yield "Priority", f"{workload.priority}{source}"
    if workload.gates and workload.is_pending:
        yield "Held by", ", ".join(workload.gates)
    if not workload.preemptible:
        yield "Preemptible", "no: it is never evicted, and starts only within min"
    if data["position"]:
        yield "Place in its queue", str(data["position"])
        if data.get("order"):
            yield "Why there", order_text(data["order"], data["position"])
    if data["state"] == "Pending" and "entitled" in data:
        yield "Entitled", "yes" if data["entitled"] else "no"
    if data.get("forecast"):
        yield "Starts", forecast_text(data["forecast"])
    if data.get("behind"):
        yield "Waits behind", named(data["behind"])
    if workload.admission is not None:
        yield "Flavors", ", ".join(sorted(flavor_names(workload.admission.flavors)))
    if workload.evictions:
        yield "Evicted so far", "once" if workload.evictions == 1 else f"{workload.evictions} times"


def _timeline(workload: Workload, data: Json, now: datetime) -> list[Json]:
    """Return what happened, the oldest first, then what is now, then what is known to come."""
    known = [_point("queued", "Queued", workload.queued)]
    if workload.created < workload.queued:
        known.append(_point("created", "Created", workload.created))
    if workload.admission is not None:
        ready = "its pods are ready" if workload.admission.ready else "its pods are not ready yet"
        known.append(_point("started", "Started", workload.admission.since, ready))
    if workload.eviction is not None:
        last = data.get("lastEviction")
        text = eviction_text(last).partition(": ")[2] if last else workload.eviction.reason.value
        known.append(_point("evicted", "Evicted", workload.eviction.at, text))
    known += [_point("later", "Stopped, if it still runs", at) for at in _ends_of_run(data)]
    if workload.not_before is not None:
        known.append(_point("later", "Can start again, at the earliest", workload.not_before))
    known.sort(key=lambda each: str(each["at"]))
    past = [each for each in known if datetime.fromisoformat(each["at"]) <= now]
    return [*past, _state_now(data), *(each | {"what": "later"} for each in known if each not in past)]


def _ends_of_run(data: Json) -> Iterator[datetime]:
    for each in (data.get("admission") or {}).get("losses", ()):
        if each["rule"] == EvictionRule.RUN_TIME and each["after"]:
            yield datetime.fromisoformat(each["after"])


def _state_now(data: Json) -> Json:
    if data["state"] == "Pending":
        return _point("waits", "Waits", None, f"place {data['position']} in its queue" if data["position"] else "")
    if data["state"] == "Evicting":
        return _point("evicted", "Is being stopped", None)
    return _point("runs", "Runs", None)


def _point(what: str, title: str, at: datetime | None, text: str = "") -> Json:
    return {"what": what, "title": title, "at": at.isoformat() if at is not None else None, "text": text}


def _flavor(flavor: Json, kinds: Mapping[str, str]) -> Json:
    resource = flavor["binding"]["resource"] if flavor["binding"] else ""
    short = flavor.get("entitlement")
    return {
        "title": flavor_name(flavor),
        "missing": missing_text(flavor),
        "entitlement": f"Not entitled: {entitlement_text(short)}" if short else "",
        "holders": _holders(flavor["holders"], resource, kinds),
    }


def _holders(holders: Sequence[Json], resource: str, kinds: Mapping[str, str]) -> list[Json]:
    return [
        {
            "workload": each.get("workload", ""),
            "kind": kinds.get(each.get("workload", ""), "Job"),
            "named": named(each),
            "group": each["group"],
            "amount": readable(resource, each["amount"]),
            "borrowed": readable(resource, each["borrowed"]) if each["borrowed"] else "",
            "text": fate_text(each),
        }
        for each in holders
    ]
