"""Many gadgets, Jobs and pod groups in a world that is too small for them, while processes are killed."""

import os
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tests.gadgets.gadget import JOBS, PATH, PODS, Object, gadget, job_part, part
from tests.gadgets.world import World

GROUPS = ("red", "blue")
NUMBER = int(os.environ.get("QUOTREE_GADGETS", "14"))
KILLS = 2
T4 = 4
"""Cpus of this model: all that the two groups have together."""


def submissions(random: Random, number: int) -> Iterator[tuple[str, Object]]:
    """One pod to three cpus each, that run for a moment."""
    for index in range(number):
        group, name = random.choice(GROUPS), f"w{index}"
        takes: dict[str, Any] = {"run_for": f"{random.choice((1, 2, 3))}s", "stop_takes": f"{random.choice((0, 1))}s"}
        kind = random.choice(("gadget", "gadget", "mixed", "job", "pods"))
        about: Any = {"name": name, "labels": {"quotree.dev/group": group}}
        if kind == "gadget":
            yield PATH, gadget(name, group, head=part(**takes), rest=part("1", random.randint(1, 2), **takes))
        elif kind == "mixed":
            yield PATH, gadget(name, group, pod=part(**takes), job=job_part("1", random.randint(1, 2), **takes))
        elif kind == "job":
            pod = part("1", **takes)["template"]
            pod["spec"]["restartPolicy"] = "Never"
            yield JOBS, {"metadata": about, "spec": {"parallelism": 2, "completions": 2, "template": pod}}
        else:
            for member in range(2):
                pod = part("1", **takes)["template"]
                own = {"quotree.dev/pod-group": name, "quotree.dev/pod-group-size": "2"}
                labels = {**about["labels"], **own}
                yield PODS, {**pod, "metadata": {**pod["metadata"], "name": f"{name}-{member}", "labels": labels}}


@pytest.mark.timeout(900)
def test_gadgets_complete_within_quota_while_processes_are_killed(at_rest: World) -> None:
    world, random = at_rest, Random(7)
    work = list(submissions(random, NUMBER))
    most, kills = 0, 0
    for index, (path, body) in enumerate(work):
        status, answer = world.alice.request("POST", path, body)
        assert status == 201, answer
        most = max(most, _used(world))
        if index % (len(work) // KILLS) == 5:
            kills += 1
            world.kill_reconciler()
            world.operator.stop()
            world.operator.start()
    ended = time.monotonic() + 240 + 10 * NUMBER
    while left := _unfinished(world):
        most = max(most, _used(world))
        assert time.monotonic() < ended, left
        time.sleep(0.05)
    assert (most <= T4, most > 0, kills) == (True, True, KILLS)
    world.until("nothing is used", lambda: {world.used(group, "t4") for group in GROUPS} == {"0"})


def _used(world: World) -> int:
    """Cpus of the pods that were started and have not ended."""
    pods = world.rest.request("GET", PODS)[1]["items"]
    live = [each for each in pods if each["status"]["phase"] in ("Pending", "Running")]
    return sum(not each["spec"].get("schedulingGates") for each in live)


def _unfinished(world: World) -> list[str]:
    """The names of what has not come to its end."""
    gadgets = [
        each for each in world.rest.request("GET", PATH)[1]["items"] if not world.is_done(each["metadata"]["name"])
    ]
    jobs = [
        each
        for each in world.rest.request("GET", JOBS)[1]["items"]
        if not any(
            one["type"] == "Complete" and one["status"] == "True" for one in each["status"].get("conditions", [])
        )
    ]
    pods = [
        each
        for each in world.rest.request("GET", PODS)[1]["items"]
        if each["status"]["phase"] not in ("Succeeded", "Failed") and "ownerReferences" not in each["metadata"]
    ]
    return [each["metadata"]["name"] for each in (*gadgets, *jobs, *pods)]
