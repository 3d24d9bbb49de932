"""The schemas, the typed views and the chart's files say the same."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

import msgspec
import pytest

from dev.generate import crds
from shared.api import flavor, quotagroup
from shared.api.crds import quotagroup as crd
from shared.api.crds.definitions import flavor_definition, quotagroup_definition
from shared.api.crds.parts import QUANTITY_OR_PERCENT
from shared.quota.model.settings import BlockAdmission, ReclaimMode
from shared.quota.model.tree import WRITTEN_POLICIES, Preemption, QueueingStrategy, WhenCanBorrow, WhenCanReclaim
from shared.resources import MAX_QUANTITY_LENGTH

Schema = dict[str, Any]


def schema_of(definition: dict[str, Any]) -> Schema:
    found: Schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def struct_in(kind: msgspec.inspect.Type) -> msgspec.inspect.StructType | None:
    """The Struct that a field's type is, or is a list of."""
    if isinstance(kind, msgspec.inspect.StructType):
        return kind
    if isinstance(kind, msgspec.inspect.ListType):
        return struct_in(kind.item_type)
    if isinstance(kind, msgspec.inspect.UnionType):
        return next((found for each in kind.types if (found := struct_in(each))), None)
    return None


def compare(kind: type[msgspec.Struct], schema: Schema, path: str) -> list[str]:
    """Every difference between the fields of a view and the properties of its schema."""
    found = msgspec.inspect.type_info(kind)
    assert isinstance(found, msgspec.inspect.StructType)
    fields = {field.encode_name: field.type for field in found.fields}
    properties = schema["properties"] if "properties" in schema else schema["items"]["properties"]
    wrong = [f"{path}.{name}" for name in fields.keys() ^ properties.keys()]
    for name, type_ in fields.items():
        below = struct_in(type_)
        if below is not None and name in properties:
            inner = properties[name]
            wrong += compare(below.cls, inner.get("items", inner), f"{path}.{name}")
    return wrong


@pytest.mark.parametrize(
    ("view", "schema"),
    [
        (quotagroup.QuotaGroupSpec, schema_of(quotagroup_definition())["properties"]["spec"]),
        (quotagroup.QuotaGroupStatus, schema_of(quotagroup_definition())["properties"]["status"]),
        (flavor.ResourceFlavorSpec, schema_of(flavor_definition())["properties"]["spec"]),
    ],
    ids=["QuotaGroup spec", "QuotaGroup status", "ResourceFlavor spec"],
)
def test_a_view_has_the_fields_of_its_schema(view: type[msgspec.Struct], schema: Schema) -> None:
    assert compare(view, schema, view.__name__) == []


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (("queueing", "strategy"), QueueingStrategy),
        (("flavorFungibility", "whenCanBorrow"), WhenCanBorrow),
        (("flavorFungibility", "whenCanReclaim"), WhenCanReclaim),
        (("preemption", "withinGroup"), Preemption),
        (("reclaim", "mode"), ReclaimMode),
        (("startup", "blockAdmission"), BlockAdmission),
        (("stopPolicy",), WRITTEN_POLICIES),
    ],
)
def test_schema_enums_match_the_model(path: tuple[str, ...], words: Iterable[StrEnum]) -> None:
    schema = crd.spec_schema()
    for name in path:
        schema = schema["properties"][name]
    assert sorted(schema["enum"]) == sorted(words)


def test_every_list_map_and_string_has_a_bound() -> None:
    assert list(unbounded(schema_of(quotagroup_definition())["properties"]["spec"], "spec")) == []
    assert list(unbounded(schema_of(flavor_definition())["properties"]["spec"], "spec")) == []


def unbounded(schema: Schema, path: str) -> list[str]:
    """Lists, maps and free texts without a limit: CEL's cost, and etcd, need one."""
    found = []
    if schema.get("type") == "array":
        found += [path] * ("maxItems" not in schema) + unbounded(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        found += [path] * ("maxProperties" not in schema)
        found += unbounded(schema["additionalProperties"], f"{path}{{}}")
    if schema.get("type") == "string" or schema.get("x-kubernetes-int-or-string"):
        found += [path] * ("maxLength" not in schema and "enum" not in schema)
    for name, below in schema.get("properties", {}).items():
        found += unbounded(below, f"{path}.{name}")
    return found


def test_quantity_length_limit_matches_the_reader() -> None:
    amounts = crd.spec_schema()["properties"]["quotas"]["items"]["properties"]["min"]["additionalProperties"]
    assert (amounts["maxLength"], amounts["pattern"]) == (MAX_QUANTITY_LENGTH, QUANTITY_OR_PERCENT)


def test_crd_files_of_the_chart_match_the_schemas() -> None:
    for path, text in crds.chart_files().items():
        assert path.read_text() == text, "run python -m dev.generate.crds"
