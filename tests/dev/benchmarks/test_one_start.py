"""The stages of one start sum to the whole; spans are received and read as the API server sends them."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from benchmarks.one_start import beside, figures_of, middle_half
from benchmarks.profile import cpu
from benchmarks.profile.collector import collecting
from benchmarks.profile.moments import (
    CYCLE_BEGINS,
    CYCLE_DECIDED,
    EVENT_COMES,
    EVENT_TAKEN,
    MOMENTS,
    PATCH_SENT,
    REVIEW_ANSWERED,
    REVIEW_COMES,
    RUN,
    STARTS_BEGUN,
    Moment,
    read_moments,
)
from benchmarks.profile.spans import Span, read_spans
from benchmarks.profile.stages import (
    CREATE_IN_ETCD,
    PARTS,
    PATCH,
    POST,
    REVIEWS,
    STAGES,
    UPDATE_IN_ETCD,
    Incomplete,
    stages,
)
from dev.controlplane.host.ports import Ports

MS: Final = 1_000_000
STORED: Final = {"TransformToStorage succeeded": [9 * MS], "Txn call succeeded": [10 * MS]}


def span(name: str, began: int, ended: int, trace: str = "post", events: dict[str, list[int]] | None = None) -> Span:
    return Span(trace.encode(), name, began * MS, ended * MS, {"http.target": "/jobs/one-7?x"}, events or {})


def spans(*tries: int) -> list[Span]:
    """Return those of a start. `tries`: when its transactions began, in milliseconds."""
    events = {"Transaction prepared": [each * MS for each in tries], "Txn call completed": [24 * MS]}
    return [
        span(POST, 1, 11),
        span(REVIEWS["mutating"], 2, 5),
        span(REVIEWS["validating"], 6, 8),
        span(CREATE_IN_ETCD, 8, 11, events=STORED),
        span(PATCH, 19, 26, "patch"),
        span(UPDATE_IN_ETCD, 20, 25, "patch", events),
        span(UPDATE_IN_ETCD, 12, 18, "the Job controller's"),
    ]


def moment(at: float, what: str, job: str = "", who: str = "reconciler") -> Moment:
    return Moment(round(at * MS), who, what, job)


REVIEWED: Final = [
    moment(3, REVIEW_COMES, who="webhook"),
    moment(3.5, REVIEW_COMES, who="webhook"),
    moment(4, REVIEW_ANSWERED, who="webhook"),
    moment(6.5, REVIEW_COMES, who="webhook"),
    moment(7, REVIEW_ANSWERED, who="webhook"),
]
STARTED: Final = [
    moment(11, EVENT_COMES, "one-7", "webhook"),
    moment(12, EVENT_COMES, "one-7"),
    moment(13, EVENT_TAKEN, "one-7"),
    moment(13.5, CYCLE_BEGINS),
    moment(16, CYCLE_DECIDED),
    moment(16.5, STARTS_BEGUN),
    moment(18, PATCH_SENT, "one-7"),
    moment(20, EVENT_COMES, "one-7"),
    moment(21, CYCLE_BEGINS),
]


def test_the_stages_of_a_start_sum_to_the_whole() -> None:
    found = stages(0, 27 * MS, "one-7", spans(22), [*REVIEWED, *STARTED])
    assert found == {
        "sent": 1.0,
        "begun": 1.0,
        "mutating.there": 1.0,
        "mutating": 1.0,
        "mutating.back": 1.0,
        "between": 1.0,
        "validating.there": 0.5,
        "validating": 0.5,
        "validating.back": 1.0,
        "stored": 1.0,
        "create": 1.0,
        "watched": 2.0,
        "taken": 1.0,
        "turn": 0.5,
        "decided": 2.5,
        "assumed": 0.5,
        "written": 1.5,
        "patch.sent": 1.0,
        "patched": 3.0,
        "again": 0.0,
        "update": 2.0,
        "seen": 3.0,
    }
    assert list(found) == [each.name for each in STAGES]


def test_without_webhooks_and_cycles_the_stages_sum_to_the_whole_too() -> None:
    moments = [each for each in STARTED if each.job]
    unreviewed = [each for each in spans(21, 23) if each.name not in REVIEWS.values()]
    found = stages(0, 27 * MS, "one-7", unreviewed, moments)
    assert (found["stored"], found["written"], found["again"], found["update"]) == (8.0, 5.0, 2.0, 1.0)
    assert sum(found.values()) == 27.0


@pytest.mark.parametrize("left_out", [POST, PATCH, CREATE_IN_ETCD, EVENT_COMES, PATCH_SENT])
def test_a_start_of_which_a_moment_is_missing_is_left_out(left_out: str) -> None:
    moments = [each for each in STARTED if each.what != left_out]
    with pytest.raises(Incomplete):
        stages(0, 27 * MS, "one-7", [each for each in spans(22) if each.name != left_out], moments)


def test_every_stage_is_of_a_part() -> None:
    assert {each.part for each in STAGES} == set(PARTS)


def test_parts_are_of_the_middle_half_and_compared_with_another_contender() -> None:
    every = [{"sent": float(each), "again": 0.0} for each in (9, 3, 2, 1)]
    assert middle_half(every) == [every[2], every[1]]
    found = [*figures_of("quotree", ONES, ONES, every), *figures_of("limit", ONES, ONES, every[3:])]
    values = {each.name: each.value for each in (*found, *beside("limit", found))}
    assert values["one_start.quotree.sent"] == 2.5
    assert values["one_start.quotree.unexplained"] == 10 - 2.5
    assert values["one_start.quotree-to-limit.part.requests"] == 1.5
    assert values["one_start.quotree.cpu.etcd.to-start"] == 4.0


class One:
    """A start that took 10 ms."""

    took = 10.0
    to_start = in_all = {"etcd": cpu.Spent(4.0, 1.0)}


ONES: Final[Sequence] = [One()]  # type: ignore[type-arg]


def field(number: int, content: bytes | int) -> bytes:
    """Return a field of Protocol Buffers: bytes, or an integer of eight bytes."""
    if isinstance(content, int):
        return bytes([number << 3 | 1]) + content.to_bytes(8, "little")
    length = bytes([len(content) & 127 | 128, len(content) >> 7])
    return bytes([number << 3 | 2]) + length + content


MESSAGE: Final = field(
    1,
    field(1, b"a resource")
    + field(
        2,
        field(
            2,
            field(1, b"trace")
            + field(5, b"Create")
            + field(7, 1000)
            + field(8, 2000)
            + field(9, field(1, b"http.target") + field(2, field(1, b"/jobs")))
            + field(11, field(1, 1200) + field(2, b"stored"))
            + field(11, field(1, 1300) + field(2, b"stored")),
        ),
    ),
)


def test_a_span_is_read_from_its_message() -> None:
    expected = Span(b"trace", "Create", 1000, 2000, {"http.target": "/jobs"}, {"stored": [1200, 1300]})
    assert list(read_spans(MESSAGE)) == [expected]


def frames(connection: socket.socket) -> Iterator[tuple[int, int, bytes]]:
    """Yield kind, flags and content of what is received."""
    with connection.makefile("rb") as file:
        while head := file.read(9):
            yield head[3], head[4], file.read(int.from_bytes(head[:3]))


def test_what_a_grpc_client_sends_in_two_pieces_is_received_and_answered() -> None:
    message = bytes(1) + len(MESSAGE).to_bytes(4) + MESSAGE
    with Ports() as ports:
        port = ports.take()
        with collecting(port) as found, closing(socket.create_connection(("127.0.0.1", port))) as connection:
            connection.settimeout(60)
            connection.sendall(
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                + frame(4, 0, 0, b"")
                + frame(1, 4, 1, b"any head")
                + frame(0, 0, 1, message[:20])
                + frame(6, 0, 0, b"12345678")
                + frame(0, 1, 1, message[20:])
            )
            received = frames(connection)
            kinds = [next(received) for _ in range(7)]
    assert found == [MESSAGE]
    assert [each[:2] for each in kinds] == [(4, 0), (8, 0), (4, 1), (6, 1), (1, 4), (0, 0), (1, 5)]
    assert kinds[3][2] == b"12345678"
    assert kinds[-1][2].endswith(b"grpc-status\x010")


def frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return len(content).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + content


def test_a_module_runs_as_it_would_and_notes_moments(tmp_path: Path) -> None:
    module, file = tmp_path / "noted_module.py", tmp_path / "moments"
    file.touch()
    module.write_text(
        "import sys\n"
        "from reconciler.write.executor import Executor\n"
        "class Nothing(Executor):\n"
        "    def __init__(self): pass\n"
        "try:\n"
        "    Nothing().carry_out(None, None)\n"
        "except AttributeError:\n"
        "    print(__name__, *sys.argv[1:])\n"
        "from reconciler.cycle import CycleRunner\n"
        "class Runner(CycleRunner):\n"
        "    class _decider:\n"
        "        measure = plan = staticmethod(lambda *words: 1)\n"
        "    class _state:\n"
        "        changed = False\n"
        "        class work:\n"
        "            class follow_ups:\n"
        "                unadmitted_running, unready = {}, ()\n"
        "    def __init__(self): pass\n"
        "    def _write_unready(self, *words): pass\n"
        "Runner()._decide_once(None, None)\n"
    )
    root = Path(__file__).parents[3]
    environment = {**os.environ, MOMENTS: str(file), "PYTHONPATH": f"{root}:{tmp_path}"}
    command = [sys.executable, *RUN, "noted_module", "a", "b"]
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("__main__ a b\n", "")
    assert [(each.what, each.job) for each in read_moments(file)] == [(CYCLE_BEGINS, ""), (CYCLE_DECIDED, "")]


def test_the_kernel_tells_what_this_process_has_spent() -> None:
    ids = cpu.processes()
    before = cpu.spent(ids)
    while cpu.spent(ids)[cpu.CLIENT].since(before[cpu.CLIENT]).cpu <= 0:
        sum(range(10_000))
