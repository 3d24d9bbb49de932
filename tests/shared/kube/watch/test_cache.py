"""What each event changes in what a watch knows."""

import msgspec

from shared.kube.watch.cache import Cache, Changed, State, Undecodable


class Record(msgspec.Struct, frozen=True):
    value: int


class _Object(msgspec.Struct):
    value: int


def project(raw: bytes) -> Record | None:
    value = msgspec.json.decode(raw, type=_Object).value
    return Record(value) if value >= 0 else None


def raw(uid: str, value: object, version: str = "1") -> bytes:
    metadata = {"uid": uid, "name": f"name-{uid}", "namespace": "ns", "resourceVersion": version}
    return msgspec.json.encode({"metadata": metadata, "value": value})


def bad(uid: str) -> Undecodable:
    return Undecodable("ns", f"name-{uid}", uid, "ValidationError: Expected `int`, got `str` - at `$.value`")


def state(cache: Cache[Record], *objects: bytes) -> State[Record]:
    fresh: State[Record] = State()
    for each in objects:
        cache.gather(fresh, each)
    return fresh


def test_put_and_drop_return_version_and_change() -> None:
    cache = Cache(project)
    assert cache.put(raw("a", 1, "5")) == ("5", Changed(None, Record(1)))
    assert cache.put(raw("a", 1, "6")) == ("6", None)
    assert cache.put(raw("a", 2, "7")) == ("7", Changed(Record(1), Record(2)))
    assert cache.put(raw("a", -1, "8")) == ("8", Changed(Record(2), None))
    assert cache.put(raw("a", -1, "9")) == ("9", None)
    assert cache.put(raw("a", 3, "10")) == ("10", Changed(None, Record(3)))
    assert cache.drop(raw("a", 4, "11")) == ("11", Changed(Record(3), None))
    assert cache.drop(raw("a", 4, "12")) == ("12", None)
    assert cache.records == {}


def test_replace_returns_the_difference_with_deletions_first() -> None:
    cache = Cache(project)
    for uid in ("a", "b", "c"):
        cache.put(raw(uid, 1))
    changes = cache.replace(state(cache, raw("d", 1), raw("b", 2), raw("c", 1), raw("hidden", -1)))
    assert changes == [Changed(Record(1), None), Changed(None, Record(1)), Changed(Record(1), Record(2))]
    assert cache.records == {"b": Record(2), "c": Record(1), "d": Record(1)}


def test_another_list_of_equal_objects_keeps_the_records() -> None:
    cache = Cache(project)
    cache.replace(state(cache, raw("a", 1), raw("b", 1)))
    known = cache.records["a"]
    assert cache.replace(state(cache, raw("a", 1, "2"), raw("b", 2, "2"))) == [Changed(Record(1), Record(2))]
    assert cache.records["a"] is known


def test_reused_name_is_another_object() -> None:
    cache = Cache(project)
    cache.put(raw("first", 1))
    assert cache.replace(state(cache, raw("second", 1))) == [Changed(Record(1), None), Changed(None, Record(1))]


def test_unreadable_object_is_reported_once_and_keeps_its_record_until_readable() -> None:
    cache = Cache(project)
    cache.put(raw("a", 1))
    assert cache.put(raw("a", "x", "2")) == ("2", bad("a"))
    assert cache.put(raw("a", "y", "3")) == ("3", None)
    assert (cache.records, cache.undecodable) == ({"a": Record(1)}, {"a": bad("a")})
    assert cache.replace(state(cache, raw("a", "x"), raw("b", "x"))) == [bad("b")]
    assert cache.records == {"a": Record(1)}
    assert cache.put(raw("a", 2, "4")) == ("4", Changed(Record(1), Record(2)))
    assert cache.drop(raw("b", "x", "5")) == ("5", None)
    assert cache.undecodable == {}


def test_a_relist_without_the_unreadable_object_ends_its_record() -> None:
    cache = Cache(project)
    cache.put(raw("a", 1))
    cache.put(raw("a", "x"))
    assert cache.replace(State()) == [Changed(Record(1), None)]
    assert cache.undecodable == {}
