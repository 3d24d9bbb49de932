"""The page of accounts, from statuses as the reconciler writes them."""

import pytest

from dashboard.view.pages.accounts import accounts
from shared.api.quotagroup import QuotaGroupStatus
from shared.problems import Problem
from shared.quota.measure.accounts.amounts import Account, GroupAccount, PeriodAccount
from shared.quota.measure.accounts.written_accounts import write_account
from shared.resources import FlavorResource
from tests.builders import world
from tests.dashboard.site import frame_of

GPU = FlavorResource("default", "gpu")
HOUR = 3_600_000


def status(months: dict[str, PeriodAccount]) -> QuotaGroupStatus:
    written, until = write_account(GroupAccount(1_790_000_000_000, months))
    return QuotaGroupStatus(accounts=written, accounted_until=until)


USED = Account(9 * HOUR, 3 * HOUR, 0, HOUR, {"nlp": 2 * HOUR})
LEAF = PeriodAccount({GPU: USED}, {"train": {GPU: 8 * HOUR}, "": {GPU: HOUR}})
STATUSES = {
    "vision": status({"2026-08": PeriodAccount({GPU: Account(HOUR)}), "2026-09": LEAF}),
    "nlp": status({"2026-09": PeriodAccount({GPU: Account(0, 0, 2 * HOUR)})}),
    "research": status({"2026-09": PeriodAccount({GPU: Account(9 * HOUR, HOUR)})}),
    "root": status({"2026-09": PeriodAccount({GPU: Account(9 * HOUR), FlavorResource("t4", "gpu"): Account(5)})}),
}
FRAME = frame_of(world("root 8\n  research/ 6\n    vision 4\n    nlp 2\n  ads 2"), statuses=STATUSES)


def test_groups_stand_below_their_parents_with_exact_amounts_and_hours() -> None:
    page = accounts(FRAME, GPU, None)
    assert (page["months"], page["month"], page["unit"]) == (["2026-08", "2026-09"], "2026-09", "gpu-hours")
    assert page["until"] == "2026-09-21T14:13:20.000+00:00"
    assert [(each["group"], each["depth"], each["usedHours"]) for each in page["groups"]] == [
        ("root", 0, "9.00"),
        ("research", 1, "9.00"),
        ("nlp", 2, "0.00"),
        ("vision", 2, "9.00"),
    ]
    lender, leaf = page["groups"][2:]
    assert (leaf["borrowedFromHours"], leaf["lentToHours"]) == ("nlp 2.00, (parent) 1.00", "")
    assert (lender["borrowedFromHours"], lender["lentToHours"]) == ("", "vision 2.00")
    assert (leaf["used"], leaf["withinMin"], leaf["borrowed"], leaf["lost"]) == tuple(
        str(each * HOUR) for each in (9, 6, 3, 1)
    )
    assert [(each["namespace"], each["group"], each["usedHours"]) for each in page["namespaces"]] == [
        ("train", "vision", "8.00"),
        ("(others)", "vision", "1.00"),
    ]


def test_another_month_has_its_own_amounts() -> None:
    page = accounts(FRAME, GPU, "2026-08")
    assert [(each["group"], each["usedHours"]) for each in page["groups"]] == [("vision", "1.00")]
    assert page["namespaces"] == []


def test_a_month_that_is_not_kept_is_refused_with_those_that_are() -> None:
    with pytest.raises(Problem, match="period '2025-01' has no accounts; there are 2026-08, 2026-09"):
        accounts(FRAME, GPU, "2025-01")


def test_without_accounts_there_is_no_month() -> None:
    page = accounts(frame_of(world("root 8\n  a 4")), GPU, None)
    assert (page["months"], page["month"], page["groups"], page["until"]) == ([], "", [], "")


def test_a_user_who_does_not_see_every_group_sees_the_accounts_of_the_others() -> None:
    seen = frame_of(world("root 8\n  research/ 6\n    vision 4"), complete=False, statuses=STATUSES)
    hidden = {name: record for name, record in seen.groups.items() if name != "root"}
    page = accounts(type(seen)(1, seen.now, seen.world, hidden, None, ()), GPU, None)
    assert [(each["group"], each["depth"]) for each in page["groups"]] == [("research", 1), ("vision", 2)]
