"""In a leaf whose order is by user, what is created says by which user. docs/specification.md §6.7."""

from dataclasses import replace
from typing import Any

import pytest

from shared.api.names import USER, creator_in
from tests.webhook.workloads.review_builders import (
    GROUPS,
    HELD,
    applied,
    codes,
    context,
    group,
    job,
    judge_job,
    judge_pod,
    mutate_job,
    mutate_pod,
    plain_pod,
    review,
)
from webhook.workloads.review_context import ReviewContext

ROBOT = "system:serviceaccount:team-a:robot"
QUOTAS = [{"flavor": "a100", "min": {"cpu": 4}}, {"flavor": "t4", "min": {"cpu": 4}}]
BY_USER = group("shared", "research", quotas=QUOTAS, queueing={"order": "User"})


def by(user: str) -> ReviewContext:
    seen = context(groups=(*GROUPS, BY_USER))
    return replace(seen, quota=replace(seen.quota, user=user))


def stored_job(body: dict[str, Any], user: str, before: dict[str, Any] | None = None) -> dict[str, Any]:
    found = applied(mutate_job(review(body, before, user), by(user)), body)
    assert codes(judge_job(review(found, before, user), by(user))) == []
    return found


def annotations(body: dict[str, Any]) -> dict[str, str]:
    return dict(body["metadata"].get("annotations") or {})


@pytest.mark.parametrize(
    ("group_name", "user", "written"),
    [
        pytest.param("shared", "ann", {USER: "ann"}, id="a person"),
        pytest.param("shared", ROBOT, {}, id="an account counts for its namespace"),
        pytest.param("shared", "x" * 254, {}, id="a name too long"),
        pytest.param("nlp", "ann", {}, id="a leaf by age"),
    ],
)
def test_a_new_workload_gets_the_user_who_created_it(group_name: str, user: str, written: dict[str, str]) -> None:
    assert annotations(stored_job(job(group_name), user)) == written
    body = plain_pod(group_name)
    pod = applied(mutate_pod(review(body, None, user), by(user)), body)
    assert (annotations(pod), codes(judge_pod(review(pod, None, user), by(user)))) == (written, [])


def test_another_name_is_replaced_or_refused() -> None:
    assert annotations(stored_job(job("shared", annotations={USER: "bob"}), "ann")) == {USER: "ann"}
    forged = job("shared", annotations={USER: "bob"}, **HELD)
    assert codes(judge_job(review(forged, None, "ann"), by("ann"))) == ["ReservedAnnotation"]
    assert codes(judge_job(review(forged, None, ROBOT), by(ROBOT))) == ["ReservedAnnotation"]


def test_the_annotation_stays_as_it_is() -> None:
    anns, bobs = ({USER: each} for each in ("ann", "bob"))
    before = job("shared", annotations=anns, **HELD)
    for changed in (job("shared", annotations=bobs, **HELD), job("shared", **HELD)):
        assert codes(judge_job(review(changed, before, "bob"), by("bob"))) == ["ReservedAnnotation"]
    unsaid = job("shared", **HELD)
    assert codes(judge_job(review(job("shared", annotations=bobs, **HELD), unsaid, "bob"), by("bob"))) == [
        "ReservedAnnotation"
    ]


def test_who_moves_a_workload_there_is_its_user_unless_it_has_one() -> None:
    moved = stored_job(job("shared", **HELD), "bob", job("nlp", **HELD))
    assert annotations(moved)[USER] == "bob"
    kept = job("shared", annotations={USER: "ann"}, **HELD)
    assert annotations(stored_job(kept, "bob", job("nlp", annotations={USER: "ann"}, **HELD)))[USER] == "ann"


@pytest.mark.parametrize(("written", "read"), [("ann", "ann"), (ROBOT, ""), ("x" * 254, ""), ("", "")])
def test_only_a_persons_name_is_read(written: str, read: str) -> None:
    assert creator_in({USER: written}) == read
