"""A settings file means what it says, or every mistake in it is named at once."""

from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest

from shared.process.settings import SettingsProblem, load_settings


class Mode(StrEnum):
    SOFT = "Soft"
    HARD = "Hard"


class Inner(msgspec.Struct, frozen=True, rename="camel"):
    grace_period: timedelta = timedelta()
    mode: Mode = Mode.SOFT
    limit: Annotated[int, msgspec.Meta(ge=1, le=9)] | None = None

    def __post_init__(self) -> None:
        if self.mode is Mode.HARD and not self.grace_period:
            raise ValueError("mode Hard needs a gracePeriod above 0")


class Rule(msgspec.Struct, frozen=True):
    name: str
    weight: float = 1.0


class Settings(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    log_level: Literal["debug", "info"] = "info"
    enabled: bool = True
    inner: Inner = Inner()
    rules: tuple[Rule, ...] = ()
    limits: dict[str, int] = {}


def load(folder: Path, text: str) -> Settings:
    path = folder / "s.yaml"
    path.write_text(text)
    return load_settings(path, Settings)


def refusals(folder: Path, text: str) -> list[str]:
    with pytest.raises(SettingsProblem) as caught:
        load(folder, text)
    lines = str(caught.value).splitlines()
    if len(lines) > 1:
        assert lines.pop(0) == f"{len(lines)} errors:"
    return [line.strip().removeprefix(f"{folder}/") for line in lines]


def test_every_kind_of_value_is_read(tmp_path: Path) -> None:
    text = """
name: a
logLevel: debug
enabled: false
inner: {gracePeriod: 1h30m, mode: Hard, limit: 3}
rules:
- name: x
- {name: y, weight: 0.5}
limits: {cpu: 4}
"""
    assert load(tmp_path, text) == Settings(
        name="a",
        log_level="debug",
        enabled=False,
        inner=Inner(timedelta(hours=1, minutes=30), Mode.HARD, 3),
        rules=(Rule("x"), Rule("y", 0.5)),
        limits={"cpu": 4},
    )


def test_missing_key_has_its_default(tmp_path: Path) -> None:
    assert load(tmp_path, "name: a\ninner:\nlimits: {}\n") == Settings(name="a")


def test_zero_is_a_valid_duration_without_unit(tmp_path: Path) -> None:
    assert load(tmp_path, "name: a\ninner: {gracePeriod: 0}").inner == Inner()


def test_missing_file_gives_the_defaults() -> None:
    assert load_settings(None, Inner) == Inner()
    with pytest.raises(SettingsProblem, match=r"^defaults: name: missing: text is needed$"):
        load_settings(None, Settings)


def test_every_error_has_line_key_and_accepted_values(tmp_path: Path) -> None:
    text = """logLevel: verbose
enabled: maybe
innr: {}
inner:
  gracePeriod: 5 parsecs
  limit: 12
  mode: Soggy
  elephants: 3
rules:
- weight: heavy
- just text
limits: [1]
"""
    assert refusals(tmp_path, text) == [
        "s.yaml:3: innr: unknown key; did you mean inner?",
        "s.yaml:1: name: missing: text is needed",
        "s.yaml:1: logLevel: 'verbose' is not one of debug, info",
        "s.yaml:2: enabled: 'maybe' is not true or false",
        "s.yaml:8: inner.elephants: unknown key; accepted: gracePeriod, limit, mode",
        "s.yaml:5: inner.gracePeriod: '5 parsecs' is not a duration such as 30s, 5m or 1h30m, at most 876000h",
        "s.yaml:7: inner.mode: 'Soggy' is not one of Soft, Hard",
        "s.yaml:6: inner.limit: 12 is not a whole number of at least 1, of at most 9",
        "s.yaml:10: rules[0].name: missing: text is needed",
        "s.yaml:10: rules[0].weight: 'heavy' is not a number",
        "s.yaml:11: rules[1]: 'just text' is not a mapping of keys",
        "s.yaml:12: limits: a list is not a mapping of keys",
    ]


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("name: a\nname: b", "s.yaml:2: name: given again (first on line 1)"),
        ("name: a\ninner: {mode: Hard}", "s.yaml:2: inner: mode Hard needs a gracePeriod above 0"),
        ("name: 5", "s.yaml:1: name: 5 is not text"),
        ("name: no", "s.yaml:1: name: False is not text"),
        ("name:", "s.yaml:1: name: nothing is not text"),
        (
            "name: a\ninner: {gracePeriod: 30}",
            "s.yaml:2: inner.gracePeriod: 30 is not a duration such as 30s, 5m or 1h30m, at most 876000h",
        ),
        (
            "name: a\ninner: {gracePeriod: -5s}",
            "s.yaml:2: inner.gracePeriod: '-5s' is not a duration such as 30s, 5m or 1h30m, at most 876000h",
        ),
        ("name: a\nlimits: {cpu: 1.5}", "s.yaml:2: limits.cpu: 1.5 is not a whole number"),
        ("[1, 2]", "s.yaml:1: a list is not a mapping of keys"),
        ("just text", "s.yaml:1: 'just text' is not a mapping of keys"),
        ("name: [", "s.yaml:1: not valid YAML: expected the node content, but found '<stream end>'"),
        ("name: a\n---\nname: b", "s.yaml:2: not valid YAML: but found another document"),
        (
            "name: !!python/object:os.system x",
            "s.yaml:1: not valid YAML: could not determine a constructor for the tag",
        ),
    ],
)
def test_one_error_is_one_line(tmp_path: Path, text: str, refusal: str) -> None:
    assert [line[: len(refusal)] for line in refusals(tmp_path, text)] == [refusal]


def test_unreadable_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SettingsProblem, match=r"^settings file /nowhere/s.yaml does not exist$"):
        load_settings("/nowhere/s.yaml", Settings)
    with pytest.raises(SettingsProblem, match=r"cannot be read: Is a directory$"):
        load_settings(tmp_path, Settings)
    (tmp_path / "binary").write_bytes(b"name: \xff")
    with pytest.raises(SettingsProblem, match=r"is not UTF-8 \(byte 6\)$"):
        load_settings(tmp_path / "binary", Settings)
    (tmp_path / "large").write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(SettingsProblem, match=r"has 1048577 bytes, more than 1048576$"):
        load_settings(tmp_path / "large", Settings)


@pytest.mark.parametrize("text", ["a: &a [*a]", "[" * 3000 + "]" * 3000, "{{}: 1}", "? [1]\n: 2", "a: 2001-99-99"])
def test_unusual_yaml_is_an_error_and_not_a_crash(tmp_path: Path, text: str) -> None:
    assert len(refusals(tmp_path, text)) >= 1
