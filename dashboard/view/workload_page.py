"""A workload's page: the explanation that `quotree explain` prints, line by line, and the same as data."""

from dashboard.view.frame import Frame
from dashboard.view.group_page import UnknownName
from shared.json_data import Json
from shared.quota.decide.advise.remedy import NO_ADVICE
from shared.quota.decide.outlook import Outlook
from shared.quota.model.workload import Workload, flavor_names
from shared.text.explanation import lines


def workload_page(frame: Frame, kind: str, key: str, *, with_remedies: bool) -> Json:
    """Return the page of one workload; remedies take longer, for each is tried. Raises UnknownName."""
    workload = frame.find(kind, key)
    if workload is None:
        raise UnknownName(f"there is no {kind} {key!r} that names a group and has not ended, or it is not shown to you")
    page: Json = {"frame": frame.number, "workload": key, "kind": kind, "group": workload.group}
    if frame.outlook is None:
        return page | {"lines": [_bare(workload)], "state": _state(workload), "incomplete": True}
    data = _explanation(frame.outlook, workload, with_remedies=with_remedies)
    return page | {
        "lines": [*lines(data)],
        "state": data["state"],
        "holders": [_holder(flavor, each) for flavor in data["flavors"] for each in flavor["holders"]],
        "lastEviction": data.get("lastEviction"),
        "incomplete": False,
    }


def _explanation(outlook: Outlook, workload: Workload, *, with_remedies: bool) -> Json:
    explanation = outlook.explanation(workload)
    return outlook.as_data(explanation, outlook.advice(explanation) if with_remedies else NO_ADVICE)


def _holder(flavor: Json, holder: Json) -> Json:
    return {"workload": holder["workload"], "group": holder["group"], "flavor": flavor["flavor"]}


def _state(workload: Workload) -> str:
    if workload.is_pending:
        return "Pending"
    return "Evicting" if workload.is_evicting else "Running"


def _bare(workload: Workload) -> str:
    """Return what the object itself says, for users with too few rights to compute the reason."""
    name = f"{workload.kind} {workload.key!r}"
    if workload.admission is None:
        return f"{name} waits in group {workload.group}"
    flavors = ", ".join(sorted(flavor_names(workload.admission.flavors)))
    return f"{name} runs since {workload.admission.since.isoformat(timespec='seconds')} on {flavors}"
