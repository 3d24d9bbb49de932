"""Paths: what they lead to, and what they say where they lead nowhere or to the wrong type."""

from typing import Any

import pytest

from shared.kinds.paths import MAX_MATCHES, PathProblem, compile_path, show

OBJECT: dict[str, Any] = {
    "metadata": {"annotations": {"a.b/c": "x"}, "name": "n"},
    "spec": {"jobs": [{"name": "a", "n": 1}, None, {"name": "b"}], "map": {"w": {"n": 2}, "m": {"n": 3}}, "text": "no"},
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (".metadata.name", "n"),
        ("metadata.name", "n"),
        ("{.metadata.name}", "n"),
        (".metadata.annotations['a.b/c']", "x"),
        (".spec.jobs[0].name", "a"),
        (".spec.jobs[1]", None),
        (".spec.jobs[1].name", None),
        (".spec.jobs[7].name", None),
        (".spec.none.at.all", None),
        (".", OBJECT),
    ],
)
def test_path_selects_one_value(text: str, value: Any) -> None:
    assert compile_path(text).get(OBJECT) == value


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (".spec.jobs[*].name", [(("spec", "jobs", 0, "name"), "a"), (("spec", "jobs", 2, "name"), "b")]),
        (".spec.jobs[*].n", [(("spec", "jobs", 0, "n"), 1)]),
        (".spec.map[*].n", [(("spec", "map", "m", "n"), 3), (("spec", "map", "w", "n"), 2)]),
        (".spec.none[*].n", []),
        (".metadata.name", [(("metadata", "name"), "n")]),
    ],
)
def test_path_selects_every_value(text: str, found: list[tuple[tuple[str | int, ...], Any]]) -> None:
    assert compile_path(text).matches(OBJECT) == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (".spec.text.name", "spec.text is the text 'no', not a mapping"),
        (".spec.jobs.name", "spec.jobs is a list, not a mapping"),
        (".spec.map[0]", "spec.map is a mapping, not a list"),
    ],
)
def test_path_through_a_wrong_type_is_a_problem(text: str, problem: str) -> None:
    with pytest.raises(PathProblem) as caught:
        compile_path(text).get(OBJECT)
    assert str(caught.value) == problem


def test_wildcard_over_text_selects_nothing() -> None:
    with pytest.raises(PathProblem, match=r"spec.text is the text 'no', neither a list nor a mapping"):
        compile_path(".spec.text[*]").matches(OBJECT)


def test_number_of_values_is_limited() -> None:
    assert len(compile_path(".a[*]").matches({"a": [1] * MAX_MATCHES})) == MAX_MATCHES
    with pytest.raises(PathProblem, match="a has 10000 members; at most 1024 are read"):
        compile_path(".a[*]").matches({"a": [1] * 10_000})


@pytest.mark.parametrize("text", [".a..b", ".a[?(@.b)]", "..a", ".a[1:2]", ".a[-1]", ".a b", ".['']", "a$", ".a[*"])
def test_invalid_path_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no path"):
        compile_path(text)


@pytest.mark.parametrize("text", [".a" * 33, ".a" + "b" * 600])
def test_too_long_path_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="at most"):
        compile_path(text)


def test_places_are_shown_as_field_paths() -> None:
    assert show(("spec", "jobs", 0, "a.b/c")) == "spec.jobs[0][a.b/c]"
    assert show(()) == "it"
