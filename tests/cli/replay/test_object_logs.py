"""In which order lines of logs are taken in."""

from pathlib import Path

from cli.replay.object_logs import ObjectLogs
from cli.replay.past import UnreadLines
from shared.recording.lines import LogLine, encode_line
from tests.builders import after


def test_a_decision_of_a_leader_knows_what_its_file_lists_at_the_beginning(tmp_path: Path) -> None:
    lines = [
        LogLine(after(10), order=(1, 0, 0)),
        LogLine(after(10), deleted="first"),
        LogLine(after(9), decided=True),
        LogLine(after(12), deleted="meanwhile"),
        LogLine(after(10), deleted="second"),
        LogLine(after(10), whole=4),
        LogLine(after(20), deleted="later"),
        LogLine(after(21), decided=True),
    ]
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(map(encode_line, lines)))
    found = [line for _, line in ObjectLogs([path], UnreadLines()).lines()]
    order = [each.deleted or ("decided" if each.decided else each.whole or "begin") for each in found]
    assert order == ["begin", "first", "second", "decided", "meanwhile", 4, "later", "decided"]
    assert [each.time for each in found][3] == after(10)
