"""The JSON Schema of a kind, for tools that check manifests without a cluster: kubeconform, editors.

What a structural schema says in Kubernetes' own words becomes JSON Schema's: an int-or-string is a choice of types, and
an object has no other members than those that are described, because the API server would drop or refuse them. The CEL
rules have no counterpart: `quotree check` applies them.
"""

from typing import Any, Final

from shared.api.crds.definitions import flavor_definition, quotagroup_definition
from shared.api.crds.parts import Schema
from shared.api.names import API_VERSION, VERSION
from shared.json_data import Json

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_OF_KUBERNETES: Final = "x-kubernetes-"
_EITHER: Final = "x-kubernetes-int-or-string"
_ANYTHING: Final = "x-kubernetes-preserve-unknown-fields"
# Formats that JSON Schema does not define, or that tools take for something else.
_LEFT_OUT: Final = ("format", "default", "nullable")


def json_schemas() -> dict[str, Json]:
    """Return file name → JSON Schema, named as kubeconform asks for them: kind and version in small letters."""
    found: dict[str, Json] = {}
    for definition in (quotagroup_definition(), flavor_definition()):
        kind = definition["spec"]["names"]["kind"]
        (version,) = definition["spec"]["versions"]
        found[f"{kind.lower()}_{VERSION}.json"] = _of_kind(kind, version["schema"]["openAPIV3Schema"])
    return found


def _of_kind(kind: str, schema: Schema) -> Json:
    whole = _converted(schema)
    members = {
        **whole["properties"],
        "apiVersion": {"type": "string", "enum": [API_VERSION]},
        "kind": {"type": "string", "enum": [kind]},
        # Described by Kubernetes; a CRD restricts no more than its name.
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    }
    required = sorted({"apiVersion", "kind", "metadata", *whole.get("required", [])})
    return {"$schema": DRAFT, "title": kind, **whole, "properties": members, "required": required}


def _converted(schema: Schema) -> Json:
    kept = {key: value for key, value in schema.items() if not key.startswith(_OF_KUBERNETES) and key not in _LEFT_OUT}
    if schema.get(_EITHER):
        kept.pop("anyOf", None)
        kept["type"] = ["integer", "number", "string"]
    for key in ("items", "additionalProperties", "not"):
        if isinstance(kept.get(key), dict):
            kept[key] = _converted(kept[key])
    for key in ("anyOf", "allOf", "oneOf"):
        if key in kept:
            kept[key] = [_converted(each) for each in kept[key]]
    properties: dict[str, Any] | None = kept.get("properties")
    if properties is not None:
        kept["properties"] = {name: _converted(each) for name, each in properties.items()}
        if "additionalProperties" not in kept and not schema.get(_ANYTHING):
            kept["additionalProperties"] = False
    if schema.get("nullable") and isinstance(kept.get("type"), str):
        kept["type"] = [kept["type"], "null"]
    return kept
