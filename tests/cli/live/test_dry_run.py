"""What kubectl prints of a dry run becomes objects, or the sentences of those who refuse them."""

from pathlib import Path

import pytest

from cli.read.cluster.live import ClusterProblem, LiveCluster, Refused

TWO = '{\n  "kind": "Job",\n  "metadata": {"name": "a"}\n}\n{\n  "kind": "Pod",\n  "metadata": {"name": "b"}\n}\n'
LIST = '{"kind": "List", "items": [{"kind": "Job", "metadata": {"name": "a"}}]}'


def dry_run(folder: Path, monkeypatch: pytest.MonkeyPatch, printed: str, beside: str = "", code: int = 0) -> list[str]:
    """The kinds of the objects that a kubectl with these words has stored."""
    (folder / "printed").write_text(printed)
    (folder / "beside").write_text(beside)
    program = folder / "kubectl"
    program.write_text(f'#!/bin/sh\ncat "{folder}/printed"\ncat "{folder}/beside" >&2\nexit {code}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    objects, _ = LiveCluster().dry_run([], "default")
    return [each["kind"] for each in objects]


@pytest.mark.parametrize(
    ("printed", "kinds"),
    [
        pytest.param(TWO, ["Job", "Pod"], id="one after another"),
        pytest.param(LIST, ["Job"], id="a list"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_objects_of_a_dry_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, kinds: list[str]) -> None:
    assert dry_run(tmp_path, monkeypatch, printed) == kinds


@pytest.mark.parametrize(
    ("beside", "sentence"),
    [
        pytest.param(
            'Warning: w\nThe request is invalid: error when creating "STDIN": webhook "x" denied the request: no',
            "refused: no",
            id="a webhook",
        ),
        pytest.param(
            "Error from server (Forbidden): jobs \"a\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: no",
            "refused: no",
            id="a policy",
        ),
        pytest.param(
            'The Job "a" is invalid: spec.template: Required value',
            'refused: The Job "a" is invalid: spec.template: Required value',
            id="the API server",
        ),
    ],
)
def test_refusal_has_the_words_of_who_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: str, sentence: str
) -> None:
    with pytest.raises(Refused) as refused:
        dry_run(tmp_path, monkeypatch, "", beside, 1)
    assert (str(refused.value), refused.value.exit_code) == (sentence, 1)


def test_missing_right_is_no_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = 'Error from server (Forbidden): jobs.batch is forbidden: User "t" cannot create resource "jobs"'
    with pytest.raises(ClusterProblem, match="the ClusterRole edit has that right") as problem:
        dry_run(tmp_path, monkeypatch, "", beside, 1)
    assert problem.value.exit_code == 2
