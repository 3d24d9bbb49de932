"""The codes of refusals that say nothing about the rules, for docs/rules.md."""

from typing import Final, NamedTuple

_HEAD: Final = """\

## Refused without being judged

Refusals with these codes say nothing about the rules. Most pass by themselves.

| code | what it means | what to do | test |
|---|---|---|---|
"""


class Unjudged(NamedTuple):
    """One code, in words for who gets it."""

    code: str
    means: str
    advice: str
    test: str


UNJUDGED: Final = (
    Unjudged(
        "NotReady",
        "The webhook cannot read what it judges by: it has just started, or the API server or its own ConfigMap cannot "
        "be read.",
        "Try again in a few seconds; [what to do if it lasts](alerts.md#quotreereviewsfail).",
        "tests/webhook/http/test_handler.py",
    ),
    Unjudged(
        "NotGovernedYet",
        "A kind was just switched on, and this replica does not have the new settings yet.",
        "Nothing: clients of Kubernetes try again by themselves.",
        "tests/webhook/http/test_handler.py",
    ),
    Unjudged(
        "TooManyReviews",
        "More reviews wait in this replica than `webhook.maxWaiting`.",
        "Nothing: clients of Kubernetes try again after a second. If it lasts, "
        "[add replicas](alerts.md#quotreewebhookisoverloaded).",
        "tests/webhook/http/test_overload.py",
    ),
    Unjudged(
        "Unreadable",
        "A field of the object has another type than it has in Kubernetes.",
        "Correct the field that the sentence names.",
        "tests/webhook/http/test_hostile_reviews.py",
    ),
    Unjudged(
        "EditUnderWay",
        "Whether it is legal depends on another edit that was accepted and is not stored yet.",
        "Try again; the sentence says when at the latest.",
        "tests/webhook/quota/test_possible_trees.py",
    ),
    Unjudged(
        "EditUnconfirmed",
        "The state that the edit starts from was not read from the API server.",
        "Apply it again. If it lasts, another client than the API server calls the webhook.",
        "tests/webhook/live/test_forged_reviews_live.py",
    ),
)


def unjudged_section() -> str:
    """Return the section of docs/rules.md about refusals that no rule makes."""
    return _HEAD + "".join(f"| `{each.code}` | {each.means} | {each.advice} | `{each.test}` |\n" for each in UNJUDGED)
