"""Ports: free ones, outside the range of outgoing connections, and never the same for two control planes."""

import socket
from collections.abc import Iterator

import pytest

from dev.controlplane import cluster
from dev.controlplane.errors import ControlPlaneError, PortTakenError
from dev.controlplane.host import ports
from dev.controlplane.programs.binaries import Binaries


@pytest.fixture
def listener() -> Iterator[int]:
    """An occupied port."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def offer(monkeypatch: pytest.MonkeyPatch, *offered: int) -> None:
    monkeypatch.setattr(ports, "_candidates", lambda: iter(offered))


def test_occupied_port_is_skipped(listener: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with ports.Ports() as sought:
        free = sought.take()
    offer(monkeypatch, listener, free)
    with ports.Ports() as held:
        assert held.take() == free


def test_port_reserved_by_another_harness_is_skipped_until_released(monkeypatch: pytest.MonkeyPatch) -> None:
    with ports.Ports() as sought:
        first, second = sought.take(), sought.take()
    offer(monkeypatch, first, second)
    with ports.Ports() as one, ports.Ports() as two:
        assert (one.take(), two.take()) == (first, second)
    with ports.Ports() as later:
        assert later.take() == first


def test_exhausted_port_range_is_reported_in_one_line(listener: int, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, listener)
    with ports.Ports() as held, pytest.raises(ControlPlaneError, match=r"no free TCP port on 127\.0\.0\.1 between"):
        held.take()


def test_ports_are_below_the_ephemeral_range() -> None:
    lowest_ephemeral = int(ports.EPHEMERAL_RANGE.read_text().split()[0])
    with ports.Ports() as held:
        assert all(ports.LOWEST <= held.take() < lowest_ephemeral for _ in range(20))


@pytest.mark.parametrize(("position", "program"), [(0, "etcd"), (1, "kube-apiserver"), (3, "kwok")])
def test_port_occupied_between_choice_and_start_is_retried(
    position: int,
    program: str,
    listener: int,
    control_plane_binaries: Binaries,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ports.Ports() as sought:
        spare = [sought.take() for _ in range(8)]
    failures: list[str] = []
    really_free = ports.is_free
    monkeypatch.setattr(ports, "is_free", lambda port: really_free(port) or not failures)
    monkeypatch.setattr(PortTakenError, "__init__", lambda self, text: failures.append(text))
    offer(monkeypatch, *spare[:position], listener, *spare[position:])
    with cluster.start(control_plane_binaries, controllers=(), scheduler=False) as control_plane:
        assert failures == [f"{program} found its port taken: free it or let the harness choose another"]
        assert control_plane.rest.ready()
