"""A group's own overrides and windows: what CEL cannot judge."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.quota.model import rules
from shared.quota.model.read.groups import read_group_manifest
from shared.quota.model.rules import Context, Violation
from shared.quota.model.rules.groups.timed import ended
from shared.quota.model.tree import Group, Override, StopPolicy, Tree
from tests.shared.quota.model.rules.own_cases import COVERED, override, window, with_other_hours

NOW = datetime(2027, 1, 10, tzinfo=UTC)
CONTEXT = Context(now=NOW)
UNCOVERED = ", which spec.quotas does not cover; name it there in min or max, 0 if need be, or take it out of"


def group(spec: dict[str, Any]) -> Group:
    """The group `team` of such a spec."""
    return read_group_manifest(
        {"apiVersion": "quotree.dev/v1alpha1", "kind": "QuotaGroup", "metadata": {"name": "team"}, "spec": spec}
    )


def violations(spec: dict[str, Any]) -> tuple[Violation, ...]:
    """What is wrong with it at its creation."""
    return rules.check_change_over_time(Tree.of([]), Tree.of([group(spec)]), "team", CONTEXT).violations


@pytest.mark.parametrize(
    ("fields", "code", "field", "message"),
    [
        ({"schedule": "0 20 * *"}, "BadSchedule", "schedule", "five fields"),
        ({"schedule": "0 25 * * *"}, "BadSchedule", "schedule", "Bad hour"),
        ({"schedule": "0 0 30 2 *"}, "BadSchedule", "schedule", "Bad day-of-month"),
        ({"timeZone": "Europe/Atlantis"}, "UnknownTimeZone", "timeZone", "'Europe/Atlantis' is no time zone"),
        ({"timeZone": "localtime"}, "UnknownTimeZone", "timeZone", "leave it out for UTC"),
        ({"duration": "0s"}, "BadWindow", "duration", "is 0s; write 1s to 8784h"),
        ({"duration": "8785h"}, "BadWindow", "duration", "is 8785h; write 1s to 8784h"),
        ({"schedule": "0 0 * * 1L#", "duration": "1h"}, "BadSchedule", "schedule", "Bad day-of-week"),
        ({"schedule": "0 0 */20 * 1L"}, "BadWindow", "schedule", "never happens"),
        ({"schedule": "0 20 * * *", "duration": "24h"}, "BadWindow", "duration", "the window never closes"),
        ({"schedule": "0 * * * *", "duration": "30m"}, "BadWindow", "schedule", "more than 1600 times in 400 days"),
    ],
)  # fmt: skip
def test_a_window_that_could_not_be_is_refused(fields: dict[str, str], code: str, field: str, message: str) -> None:
    found = {(each.rule, each.field): each.message for each in violations(window(**fields))}
    assert message in found.get((code, f"spec.windows[0].{field}"), str(found))
    assert {rule for rule, _ in found} == {code}


@pytest.mark.parametrize(
    "fields",
    [
        {"duration": "1s"},
        {"schedule": "0 0 29 2 *", "duration": "8784h", "stopPolicy": "Hold"},
        {"schedule": "0 20 * * *", "duration": "23h59m"},
        {"schedule": "0 */6 * * *", "duration": "1h"},
        {"timeZone": "America/Argentina/Buenos_Aires"},
    ],
)
def test_a_window_at_each_limit_is_accepted(fields: dict[str, str]) -> None:
    assert violations(window(**fields)) == ()


@pytest.mark.parametrize(
    ("listed", "at", "message"),
    [
        ([{"period": "Week"}], 0, "is none of spec.budgets; write there what holds always"),
        ([{"period": "Day"}, {"period": "Day"}], 1, "has other hours there already; keep one"),
        ([{"period": "Day", "whenSpent": "Drain"}], 0, "the same resource, flavor, period, timeZone and whenSpent"),
    ],
)
def test_other_hours_are_those_of_a_budget_of_the_group(listed: list[dict[str, str]], at: int, message: str) -> None:
    found = violations(with_other_hours(*({"resource": "cpu", "hours": 9, **each} for each in listed)))
    assert [(each.rule, each.field) for each in found] == [("BadBudget", f"spec.overrides[0].budgets[{at}].resource")]
    assert message in found[0].message
    assert violations(with_other_hours({"resource": "cpu", "hours": 9, "period": "Day"})) == ()


@pytest.mark.parametrize(
    ("quotas", "code", "field", "message"),
    [
        (
            [{"flavor": "a100", "min": {"cpu": 1}}], "UncoveredResource", "spec.overrides[0].quotas[0].min",
            f"min names cpu of a100{UNCOVERED} min",
        ),
        (
            [{"max": {"cpu": 3, "memory": 1}}], "UncoveredResource", "spec.overrides[0].quotas[0].max",
            f"max names memory of default{UNCOVERED} max",
        ),
        (
            [{"min": {"cpu": 1}}, {"max": {"cpu": 3}}], "DuplicateFlavor", "spec.overrides[0].quotas[1]",
            "flavor default has an entry there already; join both into one",
        ),
    ],
)  # fmt: skip
def test_an_override_of_what_the_group_does_not_cover_is_refused(
    quotas: list[Any], code: str, field: str, message: str
) -> None:
    found = violations({"quotas": COVERED, "overrides": [override("20", "21", quotas=quotas)]})
    assert found == (Violation(code, "QuotaGroup/team", field, message),)


def test_numbers_that_contradict_each_other_during_an_override_are_refused_with_the_moment() -> None:
    found = violations({"quotas": COVERED, "overrides": [override("20", "21", quotas=[{"min": {"cpu": 5}}])]})
    when = "from 2027-01-20T00:00:00Z on (with team spec.overrides[0])"
    assert [(each.rule, each.field, each.message) for each in found] == [
        (
            "MinAboveMax",
            "spec.quotas[0].min",
            f"{when}: min of default/cpu is 5, max is 4; lower min to 4 or raise max to 5",
        )
    ]


@pytest.mark.parametrize(
    ("own", "amended", "since", "when"),
    [
        (5, None, "", ""),
        (4, 5, "01", "now (with team spec.overrides[0]): "),
        (5, 4, "01", "from 2027-01-20T00:00:00Z on: "),
        (4, 5, "15", "from 2027-01-15T00:00:00Z on (with team spec.overrides[0]): "),
    ],
)
def test_finding_has_its_moment_unless_it_is_one_now_by_nothing_that_is_open(
    own: int, amended: int | None, since: str, when: str
) -> None:
    quotas = [{"min": {"cpu": own}, "max": {"cpu": 4}}]
    overrides = [] if amended is None else [override(since, "20", quotas=[{"min": {"cpu": amended}}])]
    assert [each.message for each in violations({"quotas": quotas, "overrides": overrides})] == [
        f"{when}min of default/cpu is 5, max is 4; lower min to 4 or raise max to 5"
    ]


def test_an_override_in_the_past_is_refused_when_it_is_added_and_stays_when_it_has_passed() -> None:
    past, future = override("01", "02"), override("20", "21")
    (found,) = violations({"quotas": COVERED, "overrides": [past, future]})
    assert found == Violation(
        "OverrideInPast", "QuotaGroup/team", "spec.overrides[0].until",
        "until 2027-01-02T00:00:00Z has passed: it is 2027-01-10T00:00:00Z; take the override out",
    )  # fmt: skip
    old = group({"quotas": COVERED, "overrides": [past]})
    stored, edited = Tree.of([old]), Tree.of([group({"quotas": COVERED, "overrides": [future, past]})])
    assert rules.check_change_over_time(stored, edited, "team", CONTEXT).violations == ()
    without = Tree.of([replace(old, allow_lending=False)])
    assert rules.check_change_over_time(stored, without, "team", CONTEXT).violations == ()
    assert [each.rule for each in ended(old, (), NOW)] == ["OverrideInPast"]


def test_an_override_that_holds_already_is_accepted() -> None:
    assert violations({"quotas": COVERED, "overrides": [override("01", "11")]}) == ()


def test_an_override_that_never_holds_overlaps_with_none() -> None:
    listed = [override("20", "22"), override("21", "21")]
    assert [each.rule for each in violations({"quotas": COVERED, "overrides": listed})] == ["OverrideEndsTooEarly"]


def test_an_overlap_names_the_first_of_those_that_hold_longest() -> None:
    listed = [override("20", "24"), override("21", "24"), override("22", "26")]
    found = violations({"quotas": COVERED, "overrides": listed})
    assert [each.field for each in found] == ["spec.overrides[1].from", "spec.overrides[2].from"]
    assert all("while spec.overrides[0] holds until 2027-01-24" in each.message for each in found)


def test_overrides_that_overlap_can_be_taken_apart_step_by_step() -> None:
    """Stored without the webhook: an edit of something else is accepted, one that adds another overlap is not."""
    first = Override(NOW, NOW + timedelta(days=3), stop_policy=StopPolicy.CLOSE)
    second = replace(first, start=NOW + timedelta(days=1), end=NOW + timedelta(days=4))
    third = replace(first, start=NOW + timedelta(days=2), end=NOW + timedelta(days=5))
    old = Group("team", overrides=(first, second))
    stored = Tree.of([old])

    def broken(edited: Group) -> list[str]:
        found = rules.check_change_over_time(stored, Tree.of([edited]), "team", CONTEXT)
        return [each.rule for each in found.violations]

    assert broken(replace(old, allow_lending=False)) == []
    assert broken(replace(old, overrides=(first, second, third))) == ["OverridesOverlap"]
    assert broken(replace(old, overrides=(second, third))) == ["OverridesOverlap"]
    assert broken(replace(old, overrides=(second,))) == []
