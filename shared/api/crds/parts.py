"""What the CRD schemas are made of: strings, words, quantities, and CEL rules with a message and a code.

Every CEL rule is the twin of a rule in `shared.quota.model.rules` and says the same, so that it holds without the
webhook; `Schema` is an OpenAPI v3 structural schema as a dict.
"""

from typing import Any, Final

from shared.api.durations import DURATION_PATTERN, LONGEST_TEXT, SHORTEST_RUN_TIME, write_duration
from shared.api.names import MAX_USER
from shared.percents import PERCENT

Schema = dict[str, Any]

RULES: Final = "x-kubernetes-validations"

MAX_ENTRIES: Final = 64
MAX_CONDITIONS: Final = 16
MAX_RESOURCES: Final = 64
MAX_NAME: Final = 63
MAX_PERCENTS: Final = 5 * MAX_RESOURCES
"""Of one entry: each limit of each resource."""
MAX_REQUESTER: Final = MAX_USER
"""Of a namespace or user that has a weight in the order of a leaf."""
MAX_WEIGHTS: Final = 200
MAX_KEY: Final = 317
"""Of a label's key or a resource's name: a DNS subdomain of 253 characters, a slash and a name of 63."""
NAME: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
RESOURCE_NAME: Final = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
)
LABEL_VALUE: Final = r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$"
QUANTITY: Final = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$"
QUANTITY_OR_PERCENT: Final = rf"{QUANTITY}|^{PERCENT}$"
COUNT: Final = "[0-9]{1,10}"
NOT_COUNTED: Final = "is not a whole number of pods or workloads; write one such as 20, without a unit"
_NOT_TOO_LONG: Final = (
    r"!self.matches('[0-9]{7}[.0-9]*h|[0-9]{9}[.0-9]*m($|[^s])')"
    f" && duration(self) <= duration('{LONGEST_TEXT}')"
)
"""CEL's own durations end at 292 years: what could be longer is refused before it is read."""


def text(description: str, **bounds: Any) -> Schema:
    """Return the schema of a text."""
    return {"description": description, "type": "string", **bounds}


def word(description: str, *words: str) -> Schema:
    """Return the schema of a text that is one of `words`."""
    return {"description": description, "type": "string", "enum": list(words)}


def flag(description: str) -> Schema:
    """true or false."""
    return {"description": description, "type": "boolean"}


def number(description: str, **bounds: Any) -> Schema:
    """Return the schema of a whole number."""
    return {"description": description, "type": "integer", "format": "int32", **bounds}


def duration(description: str) -> Schema:
    """Return a duration such as 30s, of at most 100 years."""
    schema: Schema = {"description": description, "type": "string", "maxLength": 64, "pattern": DURATION_PATTERN}
    message = f"is longer than 100 years; write at most {LONGEST_TEXT}"
    return _with_rules(schema, (rule("BadField", _NOT_TOO_LONG, message),))


def run_time(description: str) -> Schema:
    """Return the schema of a run-time limit: a duration that lets a workload start."""
    least = write_duration(SHORTEST_RUN_TIME)
    schema = duration(description)
    too_short = rule("BadField", f"duration(self) >= duration('{least}')", f"is too short; write at least {least}")
    return {**schema, RULES: [*schema[RULES], too_short]}


def record(description: str, properties: dict[str, Schema], *rules: Schema, required: tuple[str, ...] = ()) -> Schema:
    """Return an object with these fields and no others."""
    schema: Schema = {"description": description, "type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return _with_rules(schema, rules)


def atomic(schema: Schema) -> Schema:
    """Return the same object, owned as a whole by the last writer."""
    return {**schema, "x-kubernetes-map-type": "atomic"}


def listing(description: str, item: Schema, most: int, *rules: Schema, key: tuple[str, ...] = ()) -> Schema:
    """Return a list of at most `most` items; with `key` a list that is unique by these fields."""
    schema: Schema = {"description": description, "type": "array", "maxItems": most, "items": item}
    if key:
        schema["x-kubernetes-list-type"] = "map"
        schema["x-kubernetes-list-map-keys"] = list(key)
    else:
        schema["x-kubernetes-list-type"] = "atomic"
    return _with_rules(schema, rules)


def labels(description: str, most: int, *rules: Schema) -> Schema:
    """Label keys and values."""
    schema: Schema = {
        "description": description,
        "type": "object",
        "maxProperties": most,
        "additionalProperties": {"type": "string", "maxLength": MAX_NAME, "pattern": LABEL_VALUE},
    }
    return _with_rules(schema, rules)


def label_key_rule(code: str, example: str) -> Schema:
    """Return the rule that the keys of a map may be labels' keys."""
    return rule_on_own_keys(code, not_a_key("k"), f'"%s" is not a label key; write one such as {example}', "k")


def not_a_key(text: str) -> str:
    """CEL for: this text is not the key of a label, nor the name of a resource."""
    return f"size({text}) > {MAX_KEY} || !{text}.matches(r'{RESOURCE_NAME}')"


def amounts(description: str, *rules: Schema, pattern: str = QUANTITY) -> Schema:
    """Quantities by resource name."""
    schema: Schema = {
        "description": description,
        "type": "object",
        "maxProperties": MAX_RESOURCES,
        "additionalProperties": {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "maxLength": 64,
            "pattern": pattern,
            "x-kubernetes-int-or-string": True,
        },
    }
    return _with_rules(schema, rules)


def shown_amounts(description: str) -> Schema:
    """Quantities by resource name, as the reconciler writes them: nothing to check, and cheap to store."""
    return {
        "description": description,
        "type": "object",
        "maxProperties": MAX_RESOURCES,
        "additionalProperties": {"type": "string", "maxLength": 64},
    }


def counts(description: str) -> Schema:
    """Return a mapping of words to whole numbers, as Quotree writes it in a status."""
    return {
        "type": "object",
        "description": description,
        "additionalProperties": {"type": "integer", "format": "int64"},
        "x-kubernetes-map-type": "atomic",
    }


def times(description: str) -> Schema:
    """Moments by resource name."""
    return {
        "description": description,
        "type": "object",
        "maxProperties": MAX_RESOURCES,
        "additionalProperties": {"type": "string", "format": "date-time"},
    }


def rule(code: str, holds: str, message: str) -> Schema:
    """Return one CEL rule with a message that is the same for every offender; the code is added."""
    return {"rule": holds, "message": f"{message} ({code})"}


def rule_with_words(code: str, holds: str, message: str, *words: str) -> Schema:
    """Return one CEL rule whose message has a %s for each of `words`, CEL values."""
    return {"rule": holds, "messageExpression": _formatted(code, message, words)}


def rule_on_own_keys(code: str, breaks: str, message: str, *words: str) -> Schema:
    """Return the same as `rule_on_keys` for the map that the rule stands on."""
    return {
        "rule": f"self.all(k, !({breaks}))",
        "messageExpression": f"self.map(k, {breaks}, {_formatted(code, message, words)})[0]",
    }


def rule_on_keys(code: str, mapping: str, breaks: str, message: str, *words: str) -> Schema:
    """Return one CEL rule about the keys `k` of a map: none `breaks` it.

    `message` has a %s for each of `words`, CEL values.

    The message is about the first offender.
    """
    return {
        "rule": f"!has({mapping}) || !{mapping}.exists(k, {breaks})",
        "messageExpression": f"{mapping}.map(k, {breaks}, {_formatted(code, message, words)})[0]",
    }


def _formatted(code: str, message: str, words: tuple[str, ...]) -> str:
    """CEL of the message. One `format` and no concatenation: the API server reckons the cost of a concatenation by the
    longest key there could be, and refuses the schema."""
    return f"'{message} ({code})'.format([{', '.join(words)}])"


def _with_rules(schema: Schema, rules: tuple[Schema, ...]) -> Schema:
    return {**schema, RULES: list(rules)} if rules else schema


def condition(types: str) -> Schema:
    """Return a condition of a status; `types`: what it can be, for people."""
    return record(
        "One condition.",
        {
            "type": text(types, maxLength=316),
            "status": word("Whether it holds.", "True", "False", "Unknown"),
            "reason": text("A CamelCase word.", maxLength=1024),
            "message": text("For people.", maxLength=32768),
            "lastTransitionTime": text("When status last changed.", format="date-time"),
            "observedGeneration": {**number("The spec it is about."), "format": "int64"},
        },
        required=("type", "status"),
    )
