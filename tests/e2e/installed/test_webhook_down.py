"""What waits is started, on its flavor's nodes, while no replica of the webhook answers."""

import pytest

from tests.e2e.kubectl_steps import Asking, Object, group, job

pytestmark = pytest.mark.timeout(900)


def is_placed(found: Object) -> bool:
    return "nodeSelector" in found["spec"]["template"]["spec"]


def test_pending_job_is_started_and_placed_while_the_webhook_is_down(ask: Asking) -> None:
    # Of two flavors none is certain, so that nothing is injected before the start.
    choice = [{"flavor": "t4", "max": {"cpu": 1}}, {"flavor": "a100", "max": {"cpu": 0}}]
    edited = ask.edit_tree(group("steered", quotas=choice))
    assert edited.returncode == 0, edited.stderr
    ask.known("steered")
    ask.until("the webhook knows both flavors", lambda: not is_placed(ask.tried(job("tried", "steered", 1))))
    ask.submit("first", "steered", cpu=1)
    ask.until("the first one runs", lambda: ask.node_of("first") == "t4-0")
    ask.submit("second", "steered", cpu=1)
    assert not is_placed(ask.job("second"))
    for webhook in ask.quotree.webhooks:
        webhook.stop()
    try:
        ask.quotree.cluster.kubectl("delete", "job", "first")
        ask.until("the second one runs", lambda: ask.node_of("second") == "t4-0")
        assert ask.job("second")["spec"]["template"]["spec"]["nodeSelector"] == {"model": "t4"}
    finally:
        for webhook in ask.quotree.webhooks:
            webhook.start()
