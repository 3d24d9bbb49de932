"""What-if on the page: several edits at once, what they change, and the rule alone where one is broken."""

import pytest

from dashboard.view.pages.edits import Edit, Edits, apply, edits_of
from dashboard.view.pages.what_if import what_if
from shared.problems import Problem
from tests.builders import after, pending, running, world
from tests.dashboard.site import frame_of
from tests.trees import tree

TREE = """
root 8
  research/ 6
    vision 4
    nlp 2
  serving 2
"""


def _edit(group: str, text: str, flavor: str = "default") -> Edits:
    return Edits([Edit(group, flavor, "gpu", min=text)])


def test_effects_are_named_with_kind_and_group() -> None:
    workloads = [running("b", 6, "b", since=after(-3600)), pending("a", 4, "a")]
    frame = frame_of(world("root 8\n  a 2 w0\n  b 2..8 w1", workloads))
    data = what_if(frame, _edit("a", "4"))["data"]
    assert data["start"] == [{"workload": "ns/a", "kind": "Job", "group": "a"}]
    assert [each["workload"] for each in data["stop"]] == ["ns/b"]
    assert data["violations"] == []
    assert {"group": "a", "flavor": "default", "resource": "gpu", "text": {"before": "2", "after": "4"}} in data[
        "runtime"
    ]


def test_broken_rule_is_shown_alone() -> None:
    data = what_if(frame_of(world(TREE)), _edit("nlp", "3"))["data"]
    assert [each["rule"] for each in data.pop("violations")] == ["SumOfMinExceedsParent"]
    assert data == {}


def test_edits_are_judged_together() -> None:
    both = Edits([Edit("nlp", "default", "gpu", min="3"), Edit("research", "default", "gpu", min="7")])
    tree = TREE.replace("serving 2", "serving 1")
    assert what_if(frame_of(world(tree)), both)["data"]["violations"] == []


@pytest.mark.parametrize(
    ("edits", "says"),
    [
        (_edit("nlp", "many"), "min 'many'"),
        (_edit("nlp", "-1"), "is negative"),
        (_edit("nlp", "1", "t4"), "has no quota of gpu in flavor 't4'"),
        (_edit("<b>", "1"), "there is no QuotaGroup '<b>'"),
    ],
)
def test_invalid_edit_is_refused_with_the_reason(edits: Edits, says: str) -> None:
    with pytest.raises(Problem, match=says):
        what_if(frame_of(world(TREE)), edits)


def test_percents_are_tried_as_they_would_be_written() -> None:
    given = tree("a 40%\nb ..8")
    key = {"flavor": "default", "resource": "gpu"}
    remedy = {"do": "RaiseMin", "group": "a", **key, "by": 1, "percent": "50%"}
    assert edits_of(given, remedy) == [{"group": "a", **key, "min": "50%"}]
    after = apply(given, [Edit("a", "default", "gpu", min="50.5%"), Edit("b", "default", "gpu", max="9%")])
    assert [after[name].quotas[0].percents for name in "ab"] == [{"min": {"gpu": 50_500}}, {"max": {"gpu": 9_000}}]
    assert not apply(after, [Edit("a", "default", "gpu", min="4")])["a"].quotas[0].percents
    with pytest.raises(Problem, match="min: '4000%' is not a percent"):
        apply(given, [Edit("a", "default", "gpu", min="4000%")])


def test_nothing_is_predicted_from_a_part_of_the_cluster() -> None:
    with pytest.raises(Problem, match="cannot be computed"):
        what_if(frame_of(world(TREE), complete=False), _edit("nlp", "3"))
