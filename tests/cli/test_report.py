"""`quotree report`: rows, outputs and months, from statuses as the reconciler writes them."""

import csv
import io
from typing import Any

import msgspec
import pytest

from cli.render.accounts.report import as_csv, as_html, as_markdown
from shared.api.quotagroup import QuotaGroup, QuotaGroupStatus, read_quota_group
from shared.problems import Problem
from shared.quota.measure.accounts.amounts import Account, GroupAccount, PeriodAccount
from shared.quota.measure.accounts.run_times import LeafRunTimes
from shared.quota.measure.accounts.written_accounts import read_account, write_account, write_run_times
from shared.resources import FlavorResource
from shared.text.accounts.rows import account_rows, chosen_month
from shared.text.quantities import hours

CPU = FlavorResource("a100", "cpu")
MEMORY = FlavorResource("a100", "memory")
JOB = 6000 * 7_199_750


def group(name: str, account: GroupAccount, **spec: Any) -> QuotaGroup:
    months, until = write_account(account)
    ran = write_run_times(account.run_times)
    status = msgspec.json.encode(QuotaGroupStatus(accounts=months, accounted_until=until, run_times=ran))
    body = {"metadata": {"name": name}, "spec": spec, "status": msgspec.json.decode(status)}
    return read_quota_group(msgspec.json.encode(body))


ACCOUNT = GroupAccount(
    1_790_000_000_123,
    {
        "2026-08": PeriodAccount({CPU: Account(7)}),
        "2026-09": PeriodAccount(
            {CPU: Account(JOB, JOB // 3, 5, 3_600_000_000, {"nlp": 3_600_000_000}), MEMORY: Account(2**30 * 3_600_000)},
            {"train": {CPU: JOB - 1}, "": {CPU: 1}},
        ),
    },
    LeafRunTimes({"1a2b3c4d": (60, 95, 120)}, (60, 95, 120)),
)
RAW = msgspec.json.decode(msgspec.json.encode(group("vision", ACCOUNT).status))
KNOWN = {"vision": group("vision", ACCOUNT).status, "nlp": group("nlp", GroupAccount()).status}
WITHOUT = {"nlp": KNOWN["nlp"]}


def test_an_account_is_read_back_from_its_status() -> None:
    assert read_account(KNOWN["vision"]) == ACCOUNT
    assert read_account(KNOWN["nlp"]) == GroupAccount()


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", JOB, "12.00"),
        ("cpu", 18_000_000, "0.00"),
        ("cpu", 54_000_000, "0.02"),
        ("memory", 2**30 * 1_800_000, "0.50"),
        ("nvidia.com/gpu", 8 * 3_600_000, "8.00"),
        ("nvidia.com/gpu", 10**30, "277777777777777777777777.78"),
    ],
)
def test_amounts_in_hours(resource: str, amount: int, text: str) -> None:
    assert hours(resource, amount) == text


def test_rows_have_exact_amounts_and_hours() -> None:
    cpu, memory = account_rows(KNOWN, "2026-09")
    assert (cpu["group"], cpu["flavor"], cpu["resource"], cpu["until"]) == (
        "vision",
        "a100",
        "cpu",
        "2026-09-21T14:13:20.123+00:00",
    )
    assert [cpu[part] for part in ("used", "withinMin", "borrowed", "lent", "lost")] == [
        str(each) for each in (JOB, JOB - JOB // 3, JOB // 3, 5, 3_600_000_000)
    ]
    assert (cpu["usedHours"], cpu["withinMinHours"], cpu["borrowedHours"], cpu["lostHours"]) == (
        "12.00",
        "8.00",
        "4.00",
        "1.00",
    )
    assert memory["usedHours"] == "1.00"
    assert cpu["borrowedFrom"] == f"(parent) {JOB // 3 - 3_600_000_000}, nlp 3600000000"
    assert (cpu["borrowedFromHours"], cpu["lentTo"], memory["borrowedFrom"]) == ("(parent) 3.00, nlp 1.00", "", "")


def test_a_lender_row_names_its_borrowers_among_groups_that_are_not_shown() -> None:
    lender = group("nlp", GroupAccount(1, {"2026-09": PeriodAccount({CPU: Account(lent=3_600_000_000)})})).status
    [row] = account_rows({"nlp": lender}, "2026-09", among=KNOWN)
    assert (row["lentTo"], row["lentToHours"], row["borrowedFrom"]) == ("vision 3600000000", "vision 1.00", "")


def test_namespaces_say_what_was_used_alone() -> None:
    rows = [row for row in account_rows(KNOWN, "2026-09", namespaces=True) if row["namespace"]]
    assert [(row["namespace"], row["used"], row["borrowed"]) for row in rows] == [
        ("(others)", "1", ""),
        ("train", str(JOB - 1), ""),
    ]


def test_the_latest_month_is_shown_unless_another_is_asked_for() -> None:
    assert chosen_month(KNOWN.values(), None) == "2026-09"
    assert chosen_month(KNOWN.values(), "2026-08") == "2026-08"
    with pytest.raises(Problem, match="period '2026-07' has no accounts; there are 2026-08, 2026-09"):
        chosen_month(KNOWN.values(), "2026-07")
    with pytest.raises(Problem, match="there are none yet"):
        chosen_month(WITHOUT.values(), "2026-07")
    assert not chosen_month(WITHOUT.values(), None)
    assert not [*account_rows(WITHOUT, "")]


def test_csv_has_every_member_and_no_formula() -> None:
    rows = [*account_rows(KNOWN, "2026-09", namespaces=True)]
    assert [*csv.DictReader(io.StringIO(as_csv(rows)))] == [{k: str(v) for k, v in row.items()} for row in rows]
    assert "\n'=1+1," in "\n" + as_csv([{"group": "=1+1", "used": "1"}]).partition("\n")[2]
    assert as_csv([]) == ""


def test_a_row_says_what_is_left_of_the_budget_that_has_least_left() -> None:
    def budget(hours: str, used: int, **more: str) -> dict[str, str]:
        counted = {"countedSince": "2026-09-01T00:00:00Z", "used": str(used), "timeZone": "UTC", "whenSpent": "Warn"}
        return {"resource": "cpu", "hours": hours, "period": "Month", **counted, **more}

    month, year = budget("20", JOB), budget("1000", JOB, period="Year")
    other, over = budget("1", JOB, flavor="t4"), budget("10", JOB, flavor="a100")

    def left(*budgets: dict[str, str]) -> list[str]:
        body = {"metadata": {"name": "vision"}, "status": {**RAW, "budgets": budgets}}
        rows = account_rows({"vision": read_quota_group(msgspec.json.encode(body)).status}, "2026-09")
        return [row["budgetLeft"] for row in rows]

    assert left(month, year, other) == ["8.00 (Month)", ""]
    assert left(month, over) == ["0.00 (Month)", ""]
    assert left() == ["", ""]


def test_markdown_is_one_table() -> None:
    lines = as_markdown([*account_rows(KNOWN, "2026-09")]).splitlines()
    whom = "(parent) 3.00, nlp 1.00"
    assert (
        lines[2] == f"| vision |  | a100 | cpu | 12.00 | 8.00 | 4.00 | 0.00 | 1.00 |  | 95% (60% to 120%) | {whom} |  |"
    )
    assert {line.count("|") for line in lines} == {14}


def test_html_draws_each_key_refers_to_nothing_and_escapes_names() -> None:
    named = group("<b>", GroupAccount(1, {"2026-09": PeriodAccount({CPU: Account(JOB)})}))
    page = as_html([*account_rows({"<b>": named.status, **KNOWN}, "2026-09")], "2026-09")
    assert page.count("<svg") == 2
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "http" not in page
    assert "src=" not in page
    within, borrowed = 2 * 480 // 3, 480 // 3
    assert f'class="first" x="200" y="24" width="{within}"' in page
    assert f'class="second" x="{200 + within}" y="24" width="{borrowed}"' in page
