"""The whole path as users walk it: kubectl, the chart's webhook and policy, the reconciler, the real scheduler."""

import json
from pathlib import Path

import pytest
import yaml

from tests.e2e.kubectl_steps import Asking, Object, group, job

T4 = {"flavor": "t4"}
pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        pytest.param(
            group("research", "vision", isParent=True, quotas=[{**T4, "min": {"cpu": "8"}}]),
            ["research -> vision -> research", "(Cycle)"],
            id="a cycle, with its path",
        ),
        pytest.param(
            group("vision", "research", quotas=[{**T4, "min": {"cpu": "5"}}]),
            ["children promise 9 of t4/cpu (vision 5 + language 4), parent has 8", "(SumOfMinExceedsParent)"],
            id="more promised than the parent has",
        ),
        pytest.param(
            group("vision", "research", quotas=[{**T4, "min": {"cpu": "4"}, "max": {"cpu": "2"}}]),
            ["min of t4/cpu is 4, max is 2; lower min to 2 or raise max to 4", "(MinAboveMax)"],
            id="min above max",
        ),
    ],
)
def test_illegal_tree_is_refused_and_not_stored(ask: Asking, edit: Object, words: list[str]) -> None:
    name = edit["metadata"]["name"]
    before = ask.group(name)["spec"]
    answer = ask.edit_tree(edit)
    assert answer.returncode == 1
    assert [word for word in words if word not in answer.stderr] == [], answer.stderr
    assert ask.group(name)["spec"] == before


def test_a_job_is_held_started_and_finishes(ask: Asking) -> None:
    ask.submit("short", "vision", 1, run_for="1s")
    ask.until("it is complete", lambda: ask.is_complete("short"))
    admission = json.loads(ask.job("short")["metadata"]["annotations"]["quotree.dev/admission"])
    assert admission["flavors"] == {"cpu": "t4"}
    ask.until("its quota is free", lambda: used(ask) == "0")


def used(ask: Asking) -> str:
    """What vision uses of t4's cpu, by its status."""
    quotas = ask.group("vision").get("status", {}).get("quotas", [])
    return next((str(each["used"]["cpu"]) for each in quotas if each["flavor"] == "t4"), "")


def test_job_must_name_a_leaf(ask: Asking) -> None:
    answer = ask.apply(job("inner", "research", 1))
    assert answer.returncode == 1
    assert "language, vision" in answer.stderr


def test_user_can_neither_start_a_held_job_nor_forge_its_admission(ask: Asking) -> None:
    ask.submit("large", "vision", 8)
    ask.until("it runs", lambda: not ask.is_held("large"))
    ask.submit("waits", "language", 8)
    by_hand = ask.patch("waits", '{"spec":{"suspend":false}}')
    note = json.dumps({"flavors": {"cpu": "t4"}, "time": "2026-01-01T00:00:00Z"})
    forged = ask.patch("waits", json.dumps({"metadata": {"annotations": {"quotree.dev/admission": note}}}))
    both = job("forged", "language", 1, suspend=False)
    both["metadata"]["annotations"] = {"quotree.dev/admission": note}
    created = ask.apply(both)
    assert [answer.returncode for answer in (by_hand, forged, created)] == [1, 1, 1]
    assert ask.is_held("waits")


def test_borrowed_quota_is_reclaimed_for_the_lender(ask: Asking) -> None:
    for index in range(4):
        ask.submit(f"borrower-{index}", "vision", 2)
    ask.until("vision uses everything", lambda: not any(ask.is_held(f"borrower-{index}") for index in range(4)))
    ask.submit("owner", "language", 4, run_for="2s")
    ask.until("the owner runs", lambda: not ask.is_held("owner"))
    about = [ask.job(f"borrower-{index}")["metadata"]["annotations"] for index in range(4)]
    evictions = [json.loads(each["quotree.dev/eviction"]) for each in about if "quotree.dev/eviction" in each]
    assert [(each["reason"], each["for"]["workload"]) for each in evictions] == [("Reclaimed", "default/owner")] * 2
    ask.until("the owner is complete", lambda: ask.is_complete("owner"))
    ask.until("the borrowers run again", lambda: not any(ask.is_held(f"borrower-{index}") for index in range(4)))


def test_job_runs_on_the_nodes_of_its_flavor(ask: Asking) -> None:
    ask.submit("steered", "steered", 1)
    ask.until("it is on a node", lambda: bool(ask.node_of("steered")))
    assert ask.node_of("steered") == "a100-0"


def test_job_suspended_by_its_owner_stays_suspended(ask: Asking) -> None:
    ask.submit("mine", "vision", 1)
    ask.until("it runs", lambda: not ask.is_held("mine"))
    assert ask.patch("mine", '{"spec":{"suspend":true}}').returncode == 0
    ask.until(
        "it is held at its owner's wish",
        lambda: ask.job("mine")["metadata"]["labels"].get("quotree.dev/hold") == "true",
    )
    ask.until("its quota is free", lambda: used(ask) == "0")
    assert ask.is_held("mine")
    assert ask.patch("mine", '{"metadata":{"labels":{"quotree.dev/hold":null}}}').returncode == 0
    ask.until("it runs again", lambda: not ask.is_held("mine"))


def test_tree_command_prints_the_current_tree(ask: Asking) -> None:
    ask.submit("shown", "vision", 3)
    ask.until("status says so", lambda: used(ask) == "3")
    shown = json.loads(ask.quotree.command("tree", "vision", "-o", "json"))["items"]
    assert [(each["name"], each["parent"], each["quotas"][0]["used"]) for each in shown] == [
        ("vision", "research", 3000)
    ]
    assert "vision" in ask.quotree.command("tree")


def test_simulated_edit_matches_the_live_cluster(ask: Asking, tmp_path: Path) -> None:
    ask.submit("borrower", "vision", 6)
    ask.until("it borrows", lambda: bool(ask.node_of("borrower")))
    edit = tmp_path / "edit.yaml"
    edit.write_text(
        yaml.safe_dump(group("vision", "research", quotas=[{**T4, "min": {"cpu": "4"}, "max": {"cpu": "5"}}]))
    )
    now = json.loads(ask.quotree.command("simulate", "--live", "-o", "json"))
    then = json.loads(ask.quotree.command("simulate", "--live", "-f", str(edit), "-o", "json"))
    assert now["groups"]["vision"]["t4"]["cpu"]["used"] == 6000
    assert now["cycles"][0]["evicted"] == []
    evicted = [(each["workload"], each["reason"]) for each in then["cycles"][0]["evicted"]]
    assert evicted == [("default/borrower", "OverCeiling")]
    assert not ask.is_held("borrower")


def test_what_if_predicts_the_effects_of_the_edit(ask: Asking, tmp_path: Path) -> None:
    ask.submit("lent", "vision", 6)
    ask.until("it borrows", lambda: bool(ask.node_of("lent")))
    ask.submit("queued", "language", 6)
    lowered = group("vision", "research", quotas=[{**T4, "min": {"cpu": "4"}, "max": {"cpu": "5"}}])
    edit = tmp_path / "edit.yaml"
    edit.write_text(yaml.safe_dump(lowered))
    predicted = json.loads(ask.quotree.command("what-if", "-f", str(edit), "-o", "json", check=False))
    assert [(each["workload"], each["reason"]) for each in predicted["stop"]] == [("default/lent", "OverCeiling")]
    assert [each["workload"] for each in predicted["start"]] == ["default/queued"]
    assert ask.edit_tree(lowered).returncode == 0
    ask.until("it stops and the other starts", lambda: ask.is_held("lent") and not ask.is_held("queued"))


def test_a_case_on_the_live_tree_is_what_happens(ask: Asking, tmp_path: Path) -> None:
    lent, queued = (
        {"jobs": [{"name": name, "group": leaf, "requests": {"cpu": 6}}]}
        for name, leaf in (("lent", "vision"), ("queued", "language"))
    )
    expect: Object = {"starts": [], "evicts": {}, "waits": {"queued": "WaitingForQuota"}}
    file = tmp_path / "some.test.yaml"
    file.write_text(yaml.safe_dump({"cases": [{"name": "one fits", "load": lent, "submit": queued, "expect": expect}]}))
    assert "1 passed, 0 failed" in ask.quotree.command("test", "--live", str(file))
    ask.submit("lent", "vision", 6)
    ask.until("it borrows", lambda: not ask.is_held("lent"))
    ask.submit("queued", "language", 6)
    ask.until("the other waits", lambda: "WaitingForQuota" in ask.quotree.command("pending", "-o", "json"))
    assert ask.is_held("queued")


def test_hold_resume_close_and_open_commands_work(ask: Asking) -> None:
    ask.submit("switched", "vision", 1)
    ask.until("it runs", lambda: not ask.is_held("switched"))
    ask.quotree.command("hold", "default/switched")
    ask.until("it is stopped", lambda: ask.is_held("switched"))

    def listed() -> list[tuple[str, str, int]]:
        found = json.loads(ask.quotree.command("pending", "vision", "-o", "json"))["items"]
        return [(each["workload"], each["reason"], each["position"]) for each in found]

    ask.until("its pods have ended", lambda: listed() == [("default/switched", "Held", 0)])
    explained = json.loads(ask.quotree.command("explain", "switched", "-o", "json"))
    assert explained["remedies"] == [{"do": "Resume", "workload": "default/switched"}]
    ask.quotree.command("resume", "switched")
    ask.until("it runs again", lambda: not ask.is_held("switched"))
    ask.quotree.command("close", "vision")
    assert (
        "GroupStopped" in ask.apply(job("late", "vision", 1)).stderr
        or ask.group("vision")["spec"]["stopPolicy"] == "Close"
    )
    ask.quotree.command("open", "vision")
    ask.until("the webhook knows that it is open", lambda: ask.apply(job("welcome", "vision", 1)).returncode == 0)
    ask.until("it runs", lambda: not ask.is_held("welcome"))


def test_deactivated_job_is_resumed_by_its_owner(ask: Asking) -> None:
    startup = {"waitForPodsReady": True, "timeout": "1s", "limit": 1}
    fragile = group("fragile", "research", quotas=[{**T4, "max": {"cpu": "1"}}], startup=startup)
    assert ask.edit_tree(fragile).returncode == 0
    broken = job("broken", "fragile", 1)
    broken["spec"]["template"]["metadata"]["annotations"] = {"demo.quotree.dev/never-ready": "true"}
    assert ask.apply(broken).returncode == 0

    def requeue() -> Object:
        found: Object = json.loads(
            ask.job("broken")["metadata"].get("annotations", {}).get("quotree.dev/requeue", "{}")
        )
        return found

    ask.until("it is given up", lambda: bool(requeue().get("deactivated")))
    evicted = ask.job("broken")["metadata"]["annotations"]["quotree.dev/eviction"]
    for value in ('"true"', "null"):
        answer = ask.patch("broken", f'{{"metadata":{{"labels":{{"quotree.dev/hold":{value}}}}}}}')
        assert answer.returncode == 0, answer.stderr
    ask.until(
        "it was started and given up once more",
        lambda: ask.job("broken")["metadata"]["annotations"]["quotree.dev/eviction"] != evicted,
    )
    assert (requeue()["failedStarts"], requeue()["deactivated"]) == (1, True)


def test_workload_evicted_by_hand_makes_room_and_waits_again(ask: Asking) -> None:
    by_hand = group("by-hand", "research", quotas=[{**T4, "max": {"cpu": "1"}}])
    assert ask.edit_tree(by_hand).returncode == 0
    ask.submit("holds", "by-hand", 1)
    ask.until("it runs", lambda: not ask.is_held("holds"))
    ask.submit("wants", "by-hand", 1)
    printed = ask.quotree.command("evict", "holds", "--dry-run").splitlines()
    assert printed == [
        "Job 'default/holds' of group by-hand is stopped: it uses 1 cpu",
        "default/wants of group by-hand would start",
    ]
    assert not ask.is_held("holds")
    ask.quotree.command("evict", "holds")
    ask.until("the other runs in its room", lambda: ask.is_held("holds") and not ask.is_held("wants"))
    assert "quotree.dev/hold" not in ask.job("holds")["metadata"]["labels"]
