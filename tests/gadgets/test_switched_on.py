"""While a kind is switched on, the API server calls replicas of the webhook for it that do not know it yet."""

import http.client
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from tests.gadgets.gadget import PATH, gadget, part
from tests.gadgets.world import World
from tests.reconciler.reconciler_process import wait_for

pytestmark = pytest.mark.timeout(900)


def test_clients_retry_until_the_new_kind_is_served(at_rest: World) -> None:
    world = at_rest
    (webhook,) = world.quotree.webhooks
    config = world.quotree.cluster.workdir / f"{webhook.name}.yaml"
    whole = config.read_text()
    body = gadget("early", "blue", all=part())
    answers: list[tuple[int, Mapping[str, str], dict[str, Any]]] = []

    def refused() -> bool:
        answers.append(_post(world, body))
        return answers[-1][0] == http.client.TOO_MANY_REQUESTS

    config.write_text(yaml.safe_dump({**yaml.safe_load(whole), "kinds": []}))
    webhook.restart()
    try:
        wait_for(refused, "the replica says that it does not know the kind", 60)
    finally:
        config.write_text(whole)
        webhook.restart()
    _, headers, answer = answers[-1]
    assert (headers["Retry-After"], "(NotGovernedYet)" in answer["message"]) == ("3", True)
    wait_for(lambda: _post(world, body)[0] == http.client.CREATED, "it is taken by the replica that knows it", 60)
    world.until("it runs", lambda: len(world.pods("early")) == 1)


def _post(world: World, body: Mapping[str, Any]) -> tuple[int, Mapping[str, str], dict[str, Any]]:
    """Create it; the status, the headers and the body of the answer."""
    cluster = world.quotree.cluster
    headers = {"Authorization": f"Bearer {cluster.token}", "Content-Type": "application/json"}
    request = urllib.request.Request(cluster.url + PATH, json.dumps(body).encode(), headers)
    tls = ssl.create_default_context(cafile=str(cluster.ca_file))
    try:
        with urllib.request.urlopen(request, timeout=30, context=tls) as answer:
            return answer.status, dict(answer.headers), json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), json.load(error)
