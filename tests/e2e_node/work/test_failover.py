"""Pods of Quotree go, in order and by force, while Jobs are created all the time."""

import time

from dev.node.commands import ctr
from tests.e2e_node.site import NAMESPACE, Site
from tests.e2e_node.stream import Stream


def test_no_job_is_refused_while_one_webhook_pod_is_replaced(clean: Site) -> None:
    with Stream(clean) as asked:
        _delete(clean, [_names(clean, "webhook")[0]])
        clean.until("both webhook pods are ready again", lambda: clean.ready("webhook"))
        time.sleep(2)

    clean.figures["one webhook pod deleted"] = asked.summary()
    assert asked.refusals == []


def test_jobs_are_accepted_again_after_both_webhook_pods_were_deleted(clean: Site) -> None:
    with Stream(clean) as asked:
        _delete(clean, _names(clean, "webhook"))
        seconds = clean.until("both webhook pods are ready again", lambda: clean.ready("webhook"))
        time.sleep(2)
        clean.until("Jobs are accepted again", lambda: asked.accepts)

    clean.figures["both webhook pods deleted at once"] = f"{asked.summary()}; both ready after {seconds:.1f} s"


def test_the_next_job_starts_after_the_leader_was_deleted(clean: Site) -> None:
    leader = clean.leader()
    _delete(clean, [leader])
    clean.submit("after-sigterm", "vision")
    seconds = clean.until(
        # A last start by the leader that ends is none of the next one.
        "another leads and the next Job starts",
        lambda: clean.leader() not in ("", leader) and not clean.is_held("after-sigterm"),
    )

    clean.figures["leader deleted (SIGTERM) to the next start"] = f"{seconds:.1f} s"
    clean.until("both reconcilers are ready again", lambda: clean.ready("reconciler"))


def test_the_next_job_starts_after_the_leader_was_killed(clean: Site) -> None:
    _kill(clean, clean.leader())
    clean.submit("after-sigkill", "vision")
    seconds = clean.until("the next Job starts", lambda: not clean.is_held("after-sigkill"))

    clean.figures["leader killed (SIGKILL) to the next start"] = f"{seconds:.1f} s"
    clean.until("both reconcilers are ready again", lambda: clean.ready("reconciler"))


def test_running_jobs_are_not_touched_by_a_failover(clean: Site) -> None:
    for number in range(3):
        clean.submit(f"steady-{number}", "vision")
    names = [f"steady-{number}" for number in range(3)]
    clean.until("they run", lambda: clean.running(*names))
    pods = {name: clean.pods_of(name)[0]["metadata"]["uid"] for name in names}

    _delete(clean, _names(clean, "reconciler"))
    clean.until("both reconcilers are ready again", lambda: clean.ready("reconciler"))
    clean.submit("after-both", "language")
    clean.until("a new leader starts Jobs", lambda: not clean.is_held("after-both"))

    assert {name: clean.pods_of(name)[0]["metadata"]["uid"] for name in names} == pods
    assert clean.running(*names)


def _names(site: Site, component: str) -> list[str]:
    return [pod["metadata"]["name"] for pod in site.pods(component)]


def _delete(site: Site, names: list[str]) -> None:
    site.kubectl("delete", "pods", "-n", NAMESPACE, "--wait=false", *names)


def _kill(site: Site, name: str) -> None:
    """SIGKILL to the process in the pod's container, as by a kernel that is out of memory."""
    status = site.get("pod", "-n", NAMESPACE, name)["status"]["containerStatuses"][0]
    ctr("tasks", "kill", "--signal", "SIGKILL", status["containerID"].removeprefix("containerd://"))
