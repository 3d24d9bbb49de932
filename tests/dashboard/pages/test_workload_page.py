"""A workload's page: what happened, why it waits, who holds that, and what others say where it cannot be computed."""

from dataclasses import replace
from datetime import timedelta

from dashboard.view.frame import Frame, ServedReason
from dashboard.view.pages.workload import Told, workload_page
from dashboard.view.queue import Part, slice_of
from shared.api.owner_settings import OwnRunTime
from shared.quota.model.workload import WorkloadId
from shared.text.explanation import lines
from tests.builders import after, evicting, pending, running, world
from tests.dashboard.site import frame_of

TREE = """
root 8
  research/ 6
    vision 4
    nlp 2
  serving 2
"""
MINE = pending("nlp", 4, "w0", queued=after(-300), created=after(-400))


def _busy() -> Frame:
    """nlp borrows 2, and one more of its Jobs waits."""
    return frame_of(world(TREE, [running("vision", 1, "v"), running("nlp", 4, "n", since=after(-60)), MINE]))


def test_page_of_a_pending_workload_says_what_explain_says() -> None:
    frame = _busy()
    page = workload_page(frame, "Job", "ns/w0", with_remedies=True)
    assert frame.outlook is not None
    printed = [*lines(frame.outlook.explained(MINE))]
    assert (
        page["sentence"] == "Waits: group 'root' lacks 1 of default/gpu (request 4, free 3); runs when used falls to 4"
    )
    assert page["state"] == "Pending"
    assert ("Place in its queue", "1") in page["facts"]
    (flavor,) = page["flavors"]
    assert f"{flavor['title']}: {flavor['missing']}" in printed
    assert [(each["workload"], each["kind"], each["amount"], each["borrowed"]) for each in flavor["holders"]] == [
        ("ns/n", "Job", "4", "2"), ("ns/v", "Job", "1", "")
    ]  # fmt: skip
    assert page["remedies"]
    assert [f"  {each['text']}" for each in page["remedies"]] == printed[-len(page["remedies"]) :]


def test_page_says_when_a_pending_workload_starts_once_that_was_computed() -> None:
    ends = replace(running("nlp", 4, "n", since=after(-60)), run_time=OwnRunTime(timedelta(hours=1)))
    frame = frame_of(world(TREE, [running("vision", 1, "v"), ends, MINE]))
    quick, whole = (dict(workload_page(frame, "Job", "ns/w0", with_remedies=each)["facts"]) for each in (False, True))
    assert "Starts" not in quick
    assert whole["Starts"].startswith("between 2026-01-01 00:1")
    assert "that 1 workload of unknown run time does not end" in whole["Starts"]


def test_timeline_goes_from_the_creation_to_what_is_known_to_come() -> None:
    back_off = replace(MINE, not_before=after(120), evictions=1)
    page = workload_page(frame_of(world(TREE, [back_off])), "Job", "ns/w0", with_remedies=False)
    assert [(each["what"], each["title"]) for each in page["timeline"]] == [
        ("created", "Created"), ("queued", "Queued"), ("waits", "Waits"), ("later", "Can start again, at the earliest"),
    ]  # fmt: skip
    assert ("Evicted so far", "once") in page["facts"]


def test_timeline_of_a_running_workload_says_when_its_run_time_is_over() -> None:
    limited = frame_of(world(TREE.replace("nlp 2", "nlp 2 run3600"), [running("nlp", 1, "n")]))
    page = workload_page(limited, "Job", "ns/n", with_remedies=False)
    assert page["timeline"][-1] == {
        "what": "later", "title": "Stopped, if it still runs", "at": after(3600).isoformat(), "text": ""
    }  # fmt: skip


def test_page_of_a_held_workload_names_who_holds_it() -> None:
    gates = ("hold.quotree.dev/approval", "hold.quotree.dev/scan")
    held = replace(MINE, hold=True, hold_reason=f"held by {', '.join(gates)}", gates=gates)
    page = workload_page(frame_of(world(TREE, [held])), "Job", "ns/w0", with_remedies=False)
    assert ("Held by", "hold.quotree.dev/approval, hold.quotree.dev/scan") in page["facts"]


def test_page_of_a_running_workload_says_on_what_its_place_rests() -> None:
    page = workload_page(_busy(), "Job", "ns/n", with_remedies=False)
    assert [each["what"] for each in page["timeline"]] == ["started", "queued", "runs"]
    assert page["running"][0] == "it is within its group's runtime"
    assert page["remedies"] == []


def test_evicted_workload_shows_when_and_for_whom() -> None:
    going = evicting(running("nlp", 4, "n", since=after(-60)), MINE, at=after(-5))
    page = workload_page(frame_of(world(TREE, [going, MINE])), "Job", "ns/n", with_remedies=False)
    (evicted,) = [each for each in page["timeline"] if each["title"] == "Evicted"]
    assert evicted["at"] == after(-5).isoformat()
    assert evicted["text"].startswith("Reclaimed")
    assert page["state"] == "Evicting"


def test_remedy_of_min_and_max_can_be_tried_with_absolute_values() -> None:
    tree = "root 8\n  a 2..4 w0\n  b 6"
    waits = pending("a", 4, "w")
    frame = frame_of(world(tree, [running("a", 2, "r"), waits]))
    page = workload_page(frame, "Job", "ns/w", with_remedies=True)
    raised = [each["edits"] for each in page["remedies"] if each["text"].startswith("raise max of a")]
    assert raised
    assert raised[0][0] == {"group": "a", "flavor": "default", "resource": "gpu", "max": "6"}
    assert all(each["edits"] == [] for each in page["remedies"] if not each["text"].startswith("raise"))


def test_partial_rights_show_what_the_visibility_api_explains() -> None:
    whole = _busy()
    assert whole.outlook is not None
    data = whole.outlook.explained(MINE)
    data["flavors"][0]["holders"] = [{"group": "nlp", "workloads": 2, "amount": 5, "borrowed": 2, "recyclable": False}]
    frame = frame_of(whole.world, complete=False)
    page = workload_page(frame, "Job", "ns/w0", with_remedies=True, told=Told("the visibility API", data))
    assert (page["incomplete"], page["source"].endswith("this is what the visibility API says.")) == (True, True)
    (holder,) = page["flavors"][0]["holders"]
    assert (holder["workload"], holder["named"], holder["amount"]) == ("", "2 workloads of nlp", "5")
    assert page["remedies"]


def test_partial_rights_without_that_api_show_the_last_event() -> None:
    frame = frame_of(world(TREE, [MINE]), complete=False)
    page = workload_page(frame, "Job", "ns/w0", with_remedies=True, told=Told("its last event", sentence="no quota"))
    assert (page["sentence"], page["state"], page["flavors"]) == ("No quota", "Pending", [])
    assert page["source"].endswith("this is what its last event says.")


def test_queue_shows_the_served_reason_where_none_can_be_computed() -> None:
    frame = frame_of(world(TREE, [MINE, pending("nlp", 1, "other")]), complete=False)
    served = {WorkloadId("Job", "ns/w0"): ServedReason(3, "WaitingForQuota", "group 'root' lacks 1")}
    rows = {
        each["workload"]: each for each in slice_of(replace(frame, served=served), "nlp", Part.PENDING, 0, 9)["items"]
    }
    assert (rows["ns/w0"]["place"], rows["ns/w0"]["message"]) == (3, "group 'root' lacks 1")
    assert rows["ns/other"]["message"].startswith("the reason is not computed")
