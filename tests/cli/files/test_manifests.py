"""Manifests are read with the place of every object and field, and broken files are named with their line."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.read.manifests import Manifest, UnreadableFile, read_manifests

GROUP = "apiVersion: quotree.dev/v1alpha1\nkind: QuotaGroup\nmetadata: {name: %s}\n"


def _write(folder: Path, name: str, text: str | bytes) -> str:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def _places(manifests: list[Manifest]) -> list[tuple[str, int]]:
    return [(manifest.label, manifest.line) for manifest in manifests]


def test_every_document_is_found_with_its_first_line(tmp_path: Path) -> None:
    file = _write(tmp_path, "a.yaml", GROUP % "one" + "---\n# only a comment\n---\n" + GROUP % "two")
    assert _places(read_manifests([file])) == [("QuotaGroup/one", 1), ("QuotaGroup/two", 6)]


def test_folder_reads_all_manifests_below_it_in_order_of_name(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    _write(tmp_path, "b.yaml", GROUP % "b")
    _write(tmp_path, "deep/a.yml", GROUP % "deep")
    _write(tmp_path, "readme.md", "# not a manifest")
    assert [manifest.name for manifest in read_manifests([str(tmp_path)])] == ["b", "deep"]


def test_items_of_a_list_are_read_with_their_lines(tmp_path: Path) -> None:
    item = "- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: p\n    namespace: ns\n"
    text = f"apiVersion: v1\nkind: List\nitems:\n{item}"
    (pod,) = read_manifests([_write(tmp_path, "list.yaml", text)])
    assert (pod.label, pod.line_of("metadata.namespace")) == ("Pod/ns/p", 8)


def test_lines_of_a_thousand_fields_are_found_in_one_reading_of_the_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"a{each}" for each in range(1000)]
    text = GROUP % "a" + "spec:\n" + "".join(f"  {name}: 1\n" for name in names)
    (group,) = read_manifests([_write(tmp_path, "many.yaml", text)])
    read: list[str] = []
    compose = yaml.compose

    def counted(document: str, Loader: Any) -> Any:  # noqa: N803
        read.append(document)
        return compose(document, Loader=Loader)

    monkeypatch.setattr(yaml, "compose", counted)
    lines = [group.line_of(f"spec.{name}") for name in names]
    assert (lines[1] - lines[0], lines[-1] - lines[0], len(read)) == (1, 999, 1)


def test_a_field_path_with_index_and_bracketed_key_leads_to_its_line(tmp_path: Path) -> None:
    text = "# heading\n---\n" + GROUP % "a" + "spec:\n  quotas:\n  - flavor: x\n    min:\n      nvidia.com/gpu: 4\n"
    (group,) = read_manifests([_write(tmp_path, "a.yaml", text)])
    lines = [
        group.line_of(field) for field in ("spec.quotas[0].min[nvidia.com/gpu]", "spec.quotas[0].max", "spec.quotas[7]")
    ]
    assert lines == [10, 8, 7]


def test_json_is_read(tmp_path: Path) -> None:
    text = '{"apiVersion":"v1","kind":"PodList","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}]}'
    assert _places(read_manifests([_write(tmp_path, "p.json", text)])) == [("Pod/p", 1)]


def test_timestamps_stay_text(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, creationTimestamp: 2026-01-01T00:00:00Z}\n"
    (pod,) = read_manifests([_write(tmp_path, "p.yaml", text)])
    assert pod.body["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            GROUP % "good" + "---\na: [1\n",
            "{file}:6: broken YAML: did not find expected ',' or ']'",
            id="unclosed list",
        ),
        pytest.param("kind: A\nkind: B\n", "{file}:2: broken YAML: duplicate key 'kind'", id="duplicate key"),
        pytest.param(
            GROUP % "good" + "---\nspec:\n  quotas:\n  - min: {cpu: 1, gpu: 2,\n      'cpu': 3}\n",
            "{file}:8: broken YAML: duplicate key 'cpu'",
            id="duplicate key far below",
        ),
        pytest.param("yes: 1\ntrue: 2\n", "{file}:2: broken YAML: duplicate key 'true'", id="duplicate word"),
        pytest.param("? [a]\n: 1\n", "{file}:1: broken YAML: found unhashable key", id="list as a key"),
        pytest.param(
            '{"kind":"A",\n\t"spec":{"quotas":[{"min":{"cpu":1,\n\t\t"c\\u0070u":2}}]}}',
            "{file}:3: broken YAML: duplicate key 'cpu'",
            id="duplicate key in JSON",
        ),
        pytest.param("- 1\n", "{file}:1: holds a list, not a Kubernetes object (apiVersion, kind, …)", id="no object"),
        pytest.param(
            "a: 1\n", "{file}:1: has no kind or no apiVersion; every Kubernetes object says both", id="no kind"
        ),
        pytest.param("apiVersion: v1\nkind: Pod\n", "{file}:1: Pod has no metadata.name", id="no name"),
        pytest.param(b"a: 1\nb: \xff\n", "{file}:2: is not UTF-8 text: byte 0xff; save it as UTF-8", id="no UTF-8"),
        pytest.param(
            "a: " + "[" * 200_000 + "]" * 200_000,
            "{file}:1: is nested deeper than 200 levels; no manifest is",
            id="deep nesting",
        ),
        pytest.param(
            '{"a":' * 200_000 + "1" + "}" * 200_000,
            "{file}:1: is nested deeper than 200 levels; no manifest is",
            id="deep braces",
        ),
        pytest.param(
            "a0: &a0 [x, x]\n" + "".join(f"a{each + 1}: &a{each + 1} [*a{each}, *a{each}]\n" for each in range(40)),
            "{file}:1: broken YAML: its aliases stand for",
            id="aliases of aliases",
        ),
        pytest.param("a: &a\n- *a\n", "{file}:1: broken YAML: an alias names what it stands in", id="endless"),
        pytest.param(
            "a0: &a0 [x]\n" + "".join(f"a{each + 1}: &a{each + 1} [*a{each}]\n" for each in range(300)),
            "{file}:1: broken YAML: its aliases are nested deeper than 200 levels",
            id="deep aliases",
        ),
        pytest.param(
            "a: !!python/object:os.system x\n", "{file}:1: broken YAML: could not determine a constructor", id="code"
        ),
    ],
)
def test_broken_file_is_reported_with_line_and_reason(tmp_path: Path, text: str | bytes, message: str) -> None:
    file = _write(tmp_path, "broken.yaml", text)
    with pytest.raises(UnreadableFile) as caught:
        read_manifests([file])
    assert str(caught.value).startswith(message.format(file=file))


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="no such file or folder"):
        read_manifests([str(tmp_path / "absent.yaml")])


def test_generated_names_are_numbered_in_the_form_of_the_api_server(tmp_path: Path) -> None:
    named = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: %s}\n---\n"
    found = read_manifests([_write(tmp_path, "a.yaml", named % "a-" + named % "a-" + named % ("b" * 60))])
    assert [each.name for each in found] == ["a-00001", "a-00002", "b" * 58 + "00001"]
    assert [each.body["metadata"]["name"] for each in found] == [each.name for each in found]


def test_given_name_comes_before_a_generated_one(tmp_path: Path) -> None:
    (pod,) = read_manifests(
        [_write(tmp_path, "a.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p, generateName: q-}\n")]
    )
    assert (pod.name, pod.is_name_generated) == ("p", False)
