"""docs/glossary.md lists every exported noun with what others call it, and nothing that is gone."""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from dev.generate.glossary import PAGE, page
from reconciler.report.group_metrics import _NUMBERS as NUMBERS
from shared.api.crds.flavor import flavor_schema
from shared.api.crds.quotagroup import spec_schema, status_schema
from shared.process.quota_settings import QuotaSettingsFile
from tests.project.repository import text_files, text_of

TEXT: Final = PAGE.read_text(encoding="utf-8")
PEERS: Final = frozenset({"Kubernetes", "kube-scheduler", "Kueue", "Kueue KEP-79", "Koordinator", "Volcano", "Slurm"})
OPAQUE: Final = frozenset({"conditions", "namespaceSelector", "nodeTaints", "tolerations", "metadata"})
"""Fields whose members are Kubernetes' own."""


def table(title: str) -> list[list[str]]:
    """The rows of the table below a heading, without its head."""
    section = TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("|")]
    return rows[2:]


def words() -> list[str]:
    return [word for row in table("Words") for word in re.findall(r"\*\*(.+?)\*\*", row[0])]


def fields() -> list[str]:
    return [field for row in table("Fields and settings") for field in re.findall(r"`(.+?)`", row[0])]


def fields_of(schema: dict[str, Any]) -> Iterator[str]:
    """Every field that the schema names, of itself and of what is in it."""
    for name, inner in schema.get("properties", {}).items():
        yield name
        if name not in OPAQUE:
            yield from fields_of(inner.get("items", inner))


def settings_of(kind: type) -> Iterator[str]:
    """Every key of a settings file, and of the parts in it."""
    for each in msgspec.structs.fields(kind):
        yield each.encode_name
        if isinstance(each.type, type) and issubclass(each.type, msgspec.Struct):
            yield from settings_of(each.type)


def test_glossary_table_of_classes_matches_the_code() -> None:
    assert page(TEXT) == TEXT, "run `python -m dev.generate.glossary`, and fill in what others call a new class"


def test_glossary_lists_exactly_the_fields_and_settings() -> None:
    spoken = {*fields_of(spec_schema()), *fields_of(status_schema()), *fields_of(flavor_schema()["properties"]["spec"])}
    spoken.update(settings_of(QuotaSettingsFile))
    settings = text_of("docs/specification.md").partition("\n### 11.1 ")[2].partition("\n### ")[0]
    spoken.update(part for key in re.findall(r"(?m)^\| `([\w.]+)`", settings) for part in key.split("."))
    assert (sorted(spoken - set(fields())), sorted(set(fields()) - spoken)) == ([], [])


def test_glossary_lists_every_number_of_the_metrics() -> None:
    listed = {re.sub(r"\W", "", word).lower() for word in (*words(), *fields())}
    assert [name for name in NUMBERS if name.replace("_", "") not in listed] == []


def test_every_glossary_word_is_used() -> None:
    """Each word is used somewhere in the pages or the code beside the glossary."""
    name = PAGE.relative_to(PAGE.parents[1]).as_posix()
    rest = "\n".join(text_of(each) for each in text_files() if each != name and each.endswith((".md", ".py"))).lower()
    rest = " ".join(rest.split())
    assert [word for word in words() if word.lower() not in rest] == []


def test_glossary_tables_are_sorted_without_duplicates() -> None:
    spoken = [re.findall(r"\*\*(.+?)\*\*", row[0])[0].lower() for row in table("Words")]
    named = [re.findall(r"`(.+?)`", row[0])[0].lower() for row in table("Fields and settings")]
    classes = [row[0].strip("`").lower() for row in table("Classes")]
    assert (spoken, named, classes) == (sorted(spoken), sorted(named), sorted(classes))
    assert (len(set(words())), len(set(fields()))) == (len(words()), len(fields()))


def test_other_projects_have_their_own_names() -> None:
    columns = [row[-1] for title in ("Words", "Fields and settings", "Classes") for row in table(title)]
    names_elsewhere = [part.partition(":")[0] for column in columns for part in column.split(" · ") if part]
    strangers = {name.strip() for names in names_elsewhere for name in names.split(",")} - PEERS
    assert (len(names_elsewhere) > 100, strangers) == (True, set())
