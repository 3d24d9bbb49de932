"""A log lived through: what each group's row says, under the recorded tree and another one, in every output."""

import json
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from cli.commands.offline import replay
from shared.recording.files import LineFile, read_lines
from shared.recording.lines import LogLine, encode_line
from shared.recording.recorder import ClusterObject, ObjectRecorder
from tests.builders import after

SAMPLE = str(Path(__file__).parent / "samples" / "sacct.txt")
TREE = """
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: physics-dept}
spec: {quotas: [{min: {cpu: 8, memory: 16Gi, nvidia.com/gpu: 2}}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: chem}
spec: {quotas: [{min: {cpu: 4, memory: 8Gi}}]}
"""


def _replayed(
    folder: Path,
    *options: str,
    log: str = SAMPLE,
    capacity: str = "default:cpu=100,default:memory=1Ti,default:nvidia.com/gpu=8",
) -> Result:
    (folder / "tree.yaml").write_text(TREE)
    return CliRunner().invoke(replay.command, [log, "-f", str(folder / "tree.yaml"), "--capacity", capacity, *options])


def _rows(result: Result) -> dict[str, dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return {row["group"]: row for row in json.loads(result.stdout)["items"]}


def test_rows_sum_up_each_group_and_all_below_it(tmp_path: Path) -> None:
    rows = _rows(_replayed(tmp_path, "-o", "json", "--gather", "0s"))
    assert list(rows) == ["root", "chem", "physics-dept"]
    assert [(row["workloads"], row["waiting"], row["evictions"]) for row in rows.values()] == [
        (6, 0, 0),
        (3, 0, 0),
        (3, 0, 0),
    ]
    # 101-1 runs for 30 minutes with 4 cores, 101-2 for a second, 102 from its arrival until it was cancelled with 2.
    assert rows["chem"]["used"]["cpu"] == 4000 * 1_800_000 + 4000 * 1000 + 2000 * 300_000
    assert rows["root"]["used"]["cpu"] == rows["chem"]["used"]["cpu"] + rows["physics-dept"]["used"]["cpu"]
    assert (rows["root"]["earlier"], rows["root"]["later"]) == (0, 0)


def test_a_smaller_cluster_starts_later(tmp_path: Path) -> None:
    small = "default:cpu=8,default:memory=1Ti,default:nvidia.com/gpu=8"
    rows = _rows(_replayed(tmp_path, "-o", "json", capacity=small))
    assert rows["root"]["later"] > 0
    assert rows["root"]["wait95Seconds"] > 600


@pytest.mark.parametrize("output", ["table", "markdown", "html"])
def test_outputs_for_people_have_every_group_and_the_notes(tmp_path: Path, output: str) -> None:
    result = _replayed(tmp_path, "-o", output)
    assert result.exit_code == 0
    assert [name for name in ("root", "chem", "physics-dept") if name not in result.stdout] == []
    assert "workloads that did not end in the log: 1;" in result.output
    assert "line 13: has 1 fields" in result.output


def test_a_log_without_a_tree_is_a_problem() -> None:
    result = CliRunner().invoke(replay.command, [SAMPLE])
    assert str(result.exception) == f"{SAMPLE} has no tree: name one with -f"


def _object(kind: str, name: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    versions = {"QuotaGroup": "quotree.dev/v1alpha1", "Job": "batch/v1"}
    scope = {"namespace": "ns", "uid": name} if kind == "Job" else {}
    return {"apiVersion": versions[kind], "kind": kind, "metadata": {"name": name, **scope, **metadata}, "spec": spec}


def _group(name: str, cpu: int) -> dict[str, Any]:
    return _object("QuotaGroup", name, {"quotas": [{"min": {"cpu": cpu}}]})


def _job(name: str, group: str, cpu: int, created: float, **annotations: str) -> dict[str, Any]:
    pod = {"containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}]}
    return _object(
        "Job", name, {"suspend": True, "template": {"spec": pod}}, creationTimestamp=after(created).isoformat(),
        labels={"quotree.dev/group": group}, annotations={f"quotree.dev/{k}": v for k, v in annotations.items()},
    )  # fmt: skip


def _admission(seconds: float) -> str:
    return msgspec.json.encode({"flavors": {"cpu": "default"}, "time": after(seconds)}).decode()


def _eviction(seconds: float, since: float) -> str:
    return msgspec.json.encode({"reason": "Reclaimed", "time": after(seconds), "since": after(since)}).decode()


def _complete(job: dict[str, Any], seconds: float) -> dict[str, Any]:
    done = {"type": "Complete", "status": "True", "lastTransitionTime": after(seconds).isoformat()}
    return {**job, "status": {"completionTime": after(seconds).isoformat(), "conditions": [done]}}


@pytest.fixture
def recorded(tmp_path: Path) -> str:
    """Two groups of 4: `lent` borrows all, is evicted for `owner`, and runs again when that has ended."""
    lent, owner = _job("lent", "a", 8, 10), _job("owner", "b", 4, 20)
    runs = _job("lent", "a", 8, 10, admission=_admission(10))
    evicted = _job("lent", "a", 8, 10, eviction=_eviction(20, 10))
    started = _job("owner", "b", 4, 20, admission=_admission(20))
    again = _job("lent", "a", 8, 10, admission=_admission(50), eviction=_eviction(20, 10))
    states: list[tuple[float, list[dict[str, Any]]]] = [
        (0, []),
        (10, [lent]),
        (11, [runs]),
        (20, [runs, owner]),
        (21, [evicted, started]),
        (55, [evicted, _complete(started, 50)]),
        (56, [again]),
        (90, [_complete(again, 80)]),
        (100, []),
    ]
    path = str(tmp_path / "log.jsonl.gz")
    _write(path, [(seconds, [_group("a", 4), _group("b", 4), *jobs]) for seconds, jobs in states])
    return path


def _write(path: str, looks: Iterable[tuple[float, list[dict[str, Any]]]]) -> None:
    recorder = ObjectRecorder()
    with closing(LineFile(Path(path))) as file:
        for seconds, bodies in looks:
            objects = [ClusterObject(each["apiVersion"], each["kind"], each) for each in bodies]
            file.write(recorder.look(after(seconds), objects))


def _of(recorded: str, *options: str) -> dict[str, dict[str, Any]]:
    words = [recorded, "--capacity", "default:cpu=8", "--gather", "0s", "-o", "json", *options]
    return _rows(CliRunner().invoke(replay.command, words))


def test_a_recorded_cluster_replays_as_it_was(recorded: str) -> None:
    rows = _of(recorded)
    assert [(name, row["workloads"], row["evictions"]) for name, row in rows.items()] == [
        ("root", 2, 1),
        ("a", 1, 1),
        ("b", 1, 0),
    ]
    assert (rows["a"]["used"], rows["a"]["lost"]) == ({"cpu": 8000 * 40_000}, {"cpu": 8000 * 10_000})
    assert rows["b"]["used"] == {"cpu": 4000 * 30_000}
    assert [row["waitMedianSeconds"] for row in rows.values()] == [0, 0, 0]


def test_another_tree_shows_what_it_would_have_changed(recorded: str, tmp_path: Path) -> None:
    (tmp_path / "tree.json").write_text(
        json.dumps({"kind": "List", "apiVersion": "v1", "items": [_group("a", 8), _group("b", 0)]})
    )
    rows = _of(recorded, "-f", str(tmp_path / "tree.json"))
    assert (rows["root"]["evictions"], rows["b"]["waitMedianSeconds"]) == (0, 20)


def test_an_edit_in_the_log_counts_from_its_moment(tmp_path: Path) -> None:
    path = str(tmp_path / "log.jsonl")
    capped = {**_group("a", 4), "spec": {"quotas": [{"min": {"cpu": 4}, "max": {"cpu": 4}}]}}
    large = _job("large", "a", 8, 10)
    _write(path, [(0, [capped]), (10, [capped, large]), (60, [_group("a", 4), large]), (100, [_group("a", 4)])])
    assert _of(path)["a"]["waitMedianSeconds"] == 50


def test_damaged_lines_of_a_recording_are_counted(recorded: str, tmp_path: Path) -> None:
    lines = [
        encode_line(LogLine(after(0), object=_group("a", 4))),
        b"{cut\n",
        encode_line(LogLine(after(1), deleted="Job/ns/gone")),
    ]
    (tmp_path / "cut.jsonl").write_bytes(b"".join(lines))
    result = CliRunner().invoke(replay.command, [str(tmp_path / "cut.jsonl"), "-o", "json"])
    assert json.loads(result.stdout)["notes"][0] == "1 line left out"
    damaged = tmp_path / "half.jsonl.gz"
    damaged.write_bytes(Path(recorded).read_bytes()[:-20])
    assert CliRunner().invoke(replay.command, [str(damaged), "--capacity", "default:cpu=8"]).exit_code in (0, 2)


def test_only_what_changed_is_written_again(tmp_path: Path) -> None:
    looks = [(seconds, [{**_group("a", 4), "status": {"seconds": seconds}}]) for seconds in (0, 5)]
    _write(str(tmp_path / "log.jsonl"), looks)
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 2  # with the one that says that all are named


def test_logs_that_follow_each_other_are_read_as_one(recorded: str, tmp_path: Path) -> None:
    """Cut in the middle of the run, as by a new leader: it names what there is, and sees only what comes then."""
    lines = [json.loads(each) for each in read_lines(Path(recorded)) if each]
    middle = after(54)
    early = [each for each in lines if datetime.fromisoformat(each["time"]) < middle]
    late = [each for each in lines if each not in early]
    folder = tmp_path / "logs"
    folder.mkdir()
    # The previous leader does not know yet that it leads no more.
    _put(folder / "1.jsonl.zst", [*early, {"time": after(57).isoformat(), "deleted": "QuotaGroup/a"}])
    named = [each for each in early if each.get("object", {}).get("kind") == "QuotaGroup"]
    evicted = [each for each in early if "eviction" in str(each)]
    again = [{**each, "time": middle.isoformat()} for each in (*named, *evicted[-1:], *late[:1])]
    _put(folder / "2.jsonl", [*again, {"time": after(54.5).isoformat(), "whole": len(again)}, *late[1:]])
    assert _of(str(folder)) == _of(recorded) == _of(str(folder / "2.jsonl"), str(folder / "1.jsonl.zst"))


def _put(path: Path, lines: list[dict[str, Any]]) -> None:
    with closing(LineFile(path)) as file:
        for each in lines:
            file.write(json.dumps(each, separators=(",", ":")).encode() + b"\n")


def test_what_a_later_log_does_not_name_is_gone(tmp_path: Path) -> None:
    """It was deleted while nothing was recorded."""
    job = _job("waits", "a", 8, 10)
    capped = {**_group("a", 4), "spec": {"quotas": [{"min": {"cpu": 4}, "max": {"cpu": 4}}]}}
    _write(str(tmp_path / "1.jsonl"), [(0, [capped]), (10, [capped, job]), (20, [capped, job])])
    _write(str(tmp_path / "2.jsonl"), [(60, [_group("a", 4)]), (100, [_group("a", 4), _job("other", "a", 1, 100)])])
    rows = _of(str(tmp_path))
    assert (rows["a"]["workloads"], rows["a"]["waiting"]) == (2, 1)


def _at(seconds: float) -> dict[str, Any]:
    return {"time": after(seconds).isoformat()}


def _decided(seconds: float) -> dict[str, Any]:
    return {**_at(seconds), "decided": True}


def _end_of_pods(first: dict[str, Any]) -> list[dict[str, Any]]:
    """Its pods have ended, as the decision knows, before the Job says that it is complete."""
    complete = {"time": after(21).isoformat(), "object": _complete(first, 20)}
    return [{**_decided(20.8), "ended": ["Job/ns/first"]}, complete, _decided(21)]


@pytest.mark.parametrize(
    "ends",
    [
        pytest.param(lambda first: [{**_at(20.6), "object": _complete(first, 20)}, _decided(20.8)], id="at once"),
        pytest.param(_end_of_pods, id="by its pods"),
    ],
)
def test_a_leaders_log_says_what_each_decision_knew(
    tmp_path: Path, ends: Callable[[dict[str, Any]], list[dict[str, Any]]]
) -> None:
    """`second` comes before `first` has ended, and both are known to the same decision: it is not borrowed for."""
    first, second = _job("first", "a", 8, 10), _job("second", "b", 8, 20)
    lines: list[dict[str, Any]] = [
        {"time": after(0).isoformat(), "order": [1, 0, 0]},
        *({"time": after(0).isoformat(), "object": _group(name, 4)} for name in "ab"),
        {"time": after(10.1).isoformat(), "object": first},
        _decided(10.2),
        {"time": after(10.3).isoformat(), "object": _job("first", "a", 8, 10, admission=_admission(10.2))},
        _decided(10.4),
        {"time": after(20.1).isoformat(), "object": second},
        *ends(first),
        {"time": after(20.9).isoformat(), "object": _job("second", "b", 8, 20, admission=_admission(20.8))},
        {"time": after(90).isoformat(), "deleted": "Job/ns/second"},
        _decided(90),
    ]
    _put(tmp_path / "log.jsonl", lines)
    words = [str(tmp_path / "log.jsonl"), "--capacity", "default:cpu=8", "-o", "json"]
    data = json.loads(CliRunner().invoke(replay.command, words).stdout)
    assert [each["recorded"] for each in data["workloads"]] == [each["replayed"] for each in data["workloads"]]
    assert data["comparison"] == {
        "starts": {"recorded": 2, "replayed": 2, "both": 2},
        "evictions": {"recorded": 0, "replayed": 0, "both": 0},
        "pairs": 1,
        "exchanged": 0,
    }
    assert data["notes"][-1].startswith("beside the log: 2 of 2 starts are the same, 0 are others;")


def test_what_ended_counts_until_its_leader_knew_it_however_late(tmp_path: Path) -> None:
    first, second = _job("first", "a", 8, 10), _job("second", "b", 8, 20)
    lines: list[dict[str, Any]] = [
        {**_at(0), "order": [1, 0, 0]},
        *({**_at(0), "object": _group(name, 4)} for name in "ab"),
        {**_at(10.1), "object": first},
        _decided(10.2),
        {**_at(10.3), "object": _job("first", "a", 8, 10, admission=_admission(10.2))},
        {**_at(20.1), "object": second},
        _decided(20.2),
        {**_at(24), "object": _complete(first, 21)},
        _decided(24.1),
        {**_at(24.2), "object": _job("second", "b", 8, 20, admission=_admission(24.1))},
        {**_at(90), "deleted": "Job/ns/second"},
        _decided(90),
    ]
    _put(tmp_path / "log.jsonl", lines)
    words = [str(tmp_path / "log.jsonl"), "--capacity", "default:cpu=8", "-o", "json"]
    data = json.loads(CliRunner().invoke(replay.command, words).stdout)
    assert [each["recorded"] for each in data["workloads"]] == [each["replayed"] for each in data["workloads"]]


def test_leaders_logs_follow_each_other_in_their_order_whatever_their_clocks_say(tmp_path: Path) -> None:
    """The clock of the first leader was a minute ahead; a later edit of the second one counts."""
    capped = {**_group("a", 4), "spec": {"quotas": [{"min": {"cpu": 4}, "max": {"cpu": 4}}]}}
    large = _job("large", "a", 8, 10)
    _put(
        tmp_path / "b.jsonl",
        [
            {"time": after(60).isoformat(), "order": [1, 0, 0]},
            {"time": after(60).isoformat(), "object": capped},
            {"time": after(60).isoformat(), "whole": 1},
            {"time": after(70).isoformat(), "object": large},
            _decided(70),
        ],
    )
    _put(
        tmp_path / "a.jsonl",
        [
            {"time": after(20).isoformat(), "order": [1, 1, 0]},
            {"time": after(20).isoformat(), "object": _group("a", 4)},
            {"time": after(20).isoformat(), "object": large},
            {"time": after(20).isoformat(), "whole": 2},
            _decided(100),
        ],
    )
    rows = _rows(CliRunner().invoke(replay.command, [str(tmp_path), "--capacity", "default:cpu=8", "-o", "json"]))
    assert (rows["a"]["workloads"], rows["a"]["waiting"], rows["a"]["waitMedianSeconds"]) == (1, 0, 89)


@pytest.mark.parametrize(
    ("groups", "why"),
    [
        ([_object("QuotaGroup", "root", {}), _group("a", 4)], "group a starts nothing, 1 of its"),
        (
            [_group("b", 4)],
            "1 of its workloads come: it is not in the tree",
        ),
        ([_object("QuotaGroup", "a", {"isParent": True})], "it holds groups, no workloads (isParent: true)"),
    ],
    ids=["root is no parent", "absent", "holds groups"],
)
def test_notes_tell_why_a_group_starts_nothing(tmp_path: Path, groups: list[dict[str, Any]], why: str) -> None:
    _write(str(tmp_path / "log.jsonl"), [(0, groups), (10, [*groups, _job("waits", "a", 1, 10)]), (60, groups)])
    words = [str(tmp_path / "log.jsonl"), "--capacity", "default:cpu=8", "-o", "json"]
    result = CliRunner().invoke(replay.command, words)
    assert _rows(result)["a"]["waiting"] == 1
    assert [each for each in json.loads(result.stdout)["notes"] if why in each] != []


def test_a_folder_without_logs_is_a_problem(tmp_path: Path) -> None:
    result = CliRunner().invoke(replay.command, [str(tmp_path)])
    assert str(result.exception) == f"{tmp_path} has no file that ends in .jsonl, .jsonl.gz, .jsonl.zst"


def test_room_of_evicted_workloads_is_free_when_their_pods_have_ended(recorded: str, tmp_path: Path) -> None:
    """As long after an eviction as in the log, where the Job was seen with pods and then without."""
    lines = [json.loads(each) for each in read_lines(Path(recorded)) if each]
    first = next(each for each in lines if '"eviction' in json.dumps(each) or "quotree.dev/eviction" in str(each))
    first["object"]["status"] = {"active": 1}
    stopped = json.loads(json.dumps({**first, "time": after(23).isoformat()}))
    stopped["object"]["status"] = {}
    lines.insert(lines.index(first) + 1, stopped)
    _put(tmp_path / "stops.jsonl", lines)
    rows = _of(str(tmp_path / "stops.jsonl"))
    assert (rows["b"]["waitMedianSeconds"], rows["a"]["evictions"]) == (3, 1)
    assert rows["a"]["lost"] == {"cpu": 8000 * 10_000}


def test_run_that_ended_while_it_was_being_evicted_does_not_run_again(tmp_path: Path) -> None:
    """Its pods were through before they could be stopped: its Job is complete without another start."""
    lent, owner = _job("lent", "a", 8, 10), _job("owner", "b", 4, 20)
    runs = _job("lent", "a", 8, 10, admission=_admission(10))
    evicted = {**_job("lent", "a", 8, 10, eviction=_eviction(20, 10)), "status": {"active": 1}}
    started = _job("owner", "b", 4, 20, admission=_admission(23))
    states: list[tuple[float, list[dict[str, Any]]]] = [
        (0, []),
        (10, [lent]),
        (11, [runs]),
        (20, [runs, owner]),
        (21, [evicted, owner]),
        (23, [_complete(evicted, 22), started]),
        (60, [_complete(evicted, 22), _complete(started, 53)]),
        (100, []),
    ]
    path = str(tmp_path / "log.jsonl")
    _write(path, [(seconds, [_group("a", 4), _group("b", 4), *jobs]) for seconds, jobs in states])
    rows = _of(path)
    assert [(name, row["evictions"], row["used"], row["lost"]) for name, row in rows.items() if name != "root"] == [
        ("a", 1, {"cpu": 8000 * 12_999}, {}),
        ("b", 0, {"cpu": 4000 * 30_000}, {}),
    ]
    assert rows["b"]["waitMedianSeconds"] == 2
