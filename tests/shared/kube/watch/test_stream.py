"""Bytes become events however they are cut, and what is no event is noticed."""

from random import Random

import msgspec
import pytest

from shared.kube.watch.stream import Bookmark, EndlessLine, Lines, read_bookmark, split_event


@pytest.mark.parametrize("seed", range(20))
def test_lines_are_independent_of_chunk_borders(seed: int) -> None:
    random = Random(seed)
    lines = [bytes(random.randrange(32, 127) for _ in range(random.randrange(1, 40))) for _ in range(30)]
    text = b"".join(line + b"\n" for line in lines) + b"unfinished"
    feeder, found, at = Lines(), [], 0
    while at < len(text):
        size = random.randrange(1, 60)
        found += feeder.feed(text[at : at + size])
        at += size
    assert found == lines


def test_empty_lines_are_skipped_and_endless_lines_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Lines().feed(b"\n\na\n\n") == [b"a"]
    monkeypatch.setattr("shared.kube.watch.stream._LONGEST_LINE", 10)
    feeder = Lines()
    assert feeder.feed(b"0123456789") == []
    with pytest.raises(EndlessLine):
        feeder.feed(b"0")


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "FUTURE"])
@pytest.mark.parametrize(
    "form", ['{{"type":"{}","object":{}}}', '{{ "type": "{}", "object": {} }}', '{{"object":{1},"type":"{0}"}}']
)
def test_object_is_found_in_any_event_layout(kind: str, form: str) -> None:
    document = b'{"a":{"type":"ADDED","object":{}}}'
    found_kind, raw = split_event(form.format(kind, document.decode()).encode())
    assert (found_kind, raw.strip()) == (kind, document)


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"[]", b'{"type":"ADDED"}', b'{"type":1,"object":{}}', b'{"type":"ADDED","object":{}', b"\xff"]
)
def test_invalid_event_is_refused(line: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        msgspec.json.decode(split_event(line)[1], type=dict)


def test_bookmark_can_end_the_initial_list() -> None:
    assert read_bookmark(b'{"metadata":{"resourceVersion":"7"}}') == Bookmark("7", False)
    ending = b'{"metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}'
    assert read_bookmark(ending) == Bookmark("7", True)
