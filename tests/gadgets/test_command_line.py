"""The command line, asked about a live cluster, knows the kinds that the cluster's settings describe."""

import json
import os
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from cli.__main__ import quotree
from tests.gadgets.gadget import DESCRIPTOR, gadget, job_part, part
from tests.gadgets.world import World


def output_of(world: World, monkeypatch: pytest.MonkeyPatch, *command: str) -> Any:
    """What the command prints as JSON."""
    return json.loads(say(world, monkeypatch, *command, "-o", "json"))


def say(world: World, monkeypatch: pytest.MonkeyPatch, *command: str) -> str:
    """What the command prints."""
    cluster = world.quotree.cluster
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    monkeypatch.setenv("PATH", f"{cluster.binaries.kubectl.parent}:{os.environ['PATH']}")
    done = CliRunner().invoke(quotree, list(command))
    assert done.exit_code == 0, f"{done.output}{done.exception}"
    return done.stdout


def write_settings(world: World) -> None:
    """As the chart writes them where it deploys the reconciler."""
    metadata = {"name": "quotree-reconciler", "labels": {"quotree.dev/process": "reconciler"}}
    body = {"metadata": metadata, "data": {"reconciler.yaml": yaml.safe_dump({"kinds": [DESCRIPTOR]})}}
    status, answer = world.rest.request("POST", "/api/v1/namespaces/quotree-system/configmaps", body)
    assert status in (201, 409), answer


def test_running_gadget_is_held_and_resumed(at_rest: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world = at_rest
    write_settings(world)
    world.create(gadget("runs", "blue", all=part("2")))
    world.until("it runs", lambda: len(world.pods("runs")) == 1)
    say(world, monkeypatch, "hold", "gadget/default/runs")
    world.until("its pods are gone", lambda: world.is_paused("runs") and not world.pods("runs"))
    say(world, monkeypatch, "resume", "Gadget/default/runs")
    world.until("it runs again", lambda: not world.is_paused("runs") and len(world.pods("runs")) == 1)


def test_objects_of_a_described_kind_are_counted_once_and_wait(at_rest: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world = at_rest
    write_settings(world)
    kinds = output_of(world, monkeypatch, "kinds")["items"]
    assert [(each["kind"], each["heldBy"]) for each in kinds][2:] == [("Gadget", ".spec.control.paused")]
    world.create(gadget("runs", "blue", pods=part(), jobs=job_part()))
    world.until("it runs", lambda: world.used("blue", "t4") == "2" and len(world.pods("runs")) == 2)
    world.create(gadget("waits", "blue", all=part("3")))
    live = output_of(world, monkeypatch, "simulate", "--live")
    assert live["groups"]["blue"]["t4"]["cpu"]["used"] == 2000
    assert [(each["workload"], each["kind"], each["group"]) for each in live["pending"]] == [
        ("default/waits", "Gadget", "blue")
    ]
    assert output_of(world, monkeypatch, "explain", "default/waits")["state"] == "Pending"


def test_eviction_of_a_gadget_is_in_the_history(at_rest: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world = at_rest
    write_settings(world)
    world.create(gadget("borrows", "green", all=part("2")))
    world.until("it runs", lambda: len(world.pods("borrows")) == 1)
    world.create(gadget("owed", "blue", all=part("3")))
    world.until("it is stopped", lambda: world.is_paused("borrows"))
    found = [
        each
        for each in output_of(world, monkeypatch, "history", "green")["items"]
        if each["workload"] == "default/borrows"
    ]
    assert [(each["kind"], each["reason"], each["for"], each["request"], each["source"]) for each in found] == [
        ("Gadget", "Reclaimed", "default/owed", {"cpu": "2"}, "annotation")
    ]
