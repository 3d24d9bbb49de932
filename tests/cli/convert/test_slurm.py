"""What sacctmgr prints becomes a legal tree with the same shares; what has no counterpart is named with its line."""

from pathlib import Path

import pytest

from tests.cli.convert.converting import Converted

DUMP = """# To edit this file start with a cluster line for the new cluster
Cluster - 'hpc':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'physics':Description='physics':Organization='s':Fairshare=30:GrpJobs=20:GrpTRES=cpu=100,mem=4000,gres/gpu=8
Account - 'bio_lab':Description='bio':Organization='science':Fairshare=10:GrpTRESMins=cpu=5000:GrpTRES=license/x=2
Parent - 'physics'
Account - 'theory':Description='t':Organization='science':Fairshare=parent
Parent - 'theory'
User - 'ada':DefaultAccount='theory':Fairshare=1:MaxWallDurationPerJob=60
"""
TABLE = """Cluster|Account|User|Partition|Share|GrpTRES|MaxJobs|QOS|Par Name
hpc|root|||1|||normal|
hpc|root|root||1|||normal|
hpc|physics|||30|cpu=100,mem=4G,gres/gpu=8||normal|root
hpc|theory|||5|||normal|physics
hpc|theory|ada||1||4|normal|
"""


def test_accounts_of_a_dump_become_groups_with_their_shares(tmp_path: Path) -> None:
    made = Converted(tmp_path, DUMP)
    assert {each.name: each.parent for each in made.groups()} == {
        "physics": "root",
        "bio-lab": "root",
        "theory": "physics",
    }
    (physics,) = made.spec("physics")["quotas"]
    assert physics["max"] == {"cpu": "100", "memory": "4000Mi", "nvidia.com/gpu": "8", "workloads": "20"}
    assert [made.spec(name)["quotas"][0]["weight"]["cpu"] for name in ("physics", "bio-lab")] == ["30", "10"]
    assert made.notes == [
        (
            "manifests.yaml:6: Account/bio_lab GrpTRES: license/x=2 is left out: "
            "no resource of pods is counted by that name"
        ),
        (
            "manifests.yaml:6: Account/bio_lab GrpTRESMins: becomes budgets of all time, and what runs goes on when "
            "they are spent; where Slurm's usage decays or is reset (PriorityUsageResetPeriod), write that period, and "
            "whenSpent: Drain to stop what runs"
        ),
        (
            "manifests.yaml:8: Account/theory Fairshare: is parent: its users compete with those of other accounts; "
            "weight 1"
        ),
        (
            "manifests.yaml:10: User/ada: users of an account share its group in the order of their jobs: "
            "limits and fairness by user have no counterpart"
        ),
        (
            "manifests.yaml:10: User/ada MaxWallDurationPerJob: 60 is left out: a user has no limit of run time of "
            "their own; write maxRunTime on a group"
        ),
    ]
    assert made.check(tmp_path)[0] == 0


@pytest.mark.parametrize(
    ("written", "expected"),
    [("90", "1h30m"), ("1-00:00:00", "24h"), ("2-12", "60h"), ("12:30", "12m30s"), ("01:02:03", "1h2m3s")],
)
def test_wall_time_of_an_account_is_the_run_time_of_its_group(tmp_path: Path, written: str, expected: str) -> None:
    made = Converted(tmp_path, f"Cluster|Account|Share|MaxWall|Par Name\nhpc|physics|1|{written}|root\n")
    assert (made.spec("physics")["maxRunTime"], made.notes, made.check(tmp_path)[0]) == (expected, [], 0)


@pytest.mark.parametrize("written", ["soon", "0", "1-2-3", "1:2:3:4", "9" * 30])
def test_wall_time_that_is_none_is_named(tmp_path: Path, written: str) -> None:
    made = Converted(tmp_path, f"Cluster|Account|Share|MaxWall|Par Name\nhpc|physics|1|{written}|root\n")
    assert ("maxRunTime" in made.spec("physics"), made.notes) == (
        False,
        [f"manifests.yaml:2: Account/physics MaxWallDurationPerJob: {written} is no time; left out"],
    )


def test_minutes_become_hours_that_are_exact_to_a_thousandth(tmp_path: Path) -> None:
    minutes = "cpu=5000,mem=6000,gres/gpu=60,node=4,billing=-1"
    made = Converted(tmp_path, f"Cluster - 'hpc':Fairshare=1\nParent - 'root'\nAccount - 'bio':GrpTRESMins={minutes}\n")
    budgets = {each["resource"]: each["hours"] for each in made.spec("bio")["budgets"]}
    assert budgets == {"cpu": "83.334", "memory": str(100 * 2**20), "nvidia.com/gpu": "1"}
    assert {(each["period"], each["whenSpent"]) for each in made.spec("bio")["budgets"]} == {("Total", "NoStart")}
    assert [each for each in made.notes if "left out" in each] == [
        f"manifests.yaml:3: Account/bio GrpTRESMins: {each} is left out: no resource of pods is counted by that name"
        for each in ("node=4", "billing=-1")
    ]


def test_table_of_associations_is_read_like_a_dump(tmp_path: Path) -> None:
    made = Converted(tmp_path, TABLE)
    assert {each.name: each.parent for each in made.groups()} == {"physics": "root", "theory": "physics"}
    assert made.spec("physics")["quotas"][0]["max"] == {"cpu": "100", "memory": "4Gi", "nvidia.com/gpu": "8"}
    assert made.notes[-1].startswith("manifests.yaml:6: User/ada MaxJobs: 4 is left out: ")


def test_indentation_of_a_table_is_its_tree(tmp_path: Path) -> None:
    rows = "Account|User|Share\nroot||1\n physics||3\n  theory||1\n  theory|ada|1\n bio||1\n"
    made = Converted(tmp_path, rows)
    assert {each.name: each.parent for each in made.groups()} == {"physics": "root", "theory": "physics", "bio": "root"}


def test_each_quality_of_service_is_named(tmp_path: Path) -> None:
    made = Converted(tmp_path, "Name|Priority|MaxTRESPU\nnormal|0|\nlong|10|cpu=4\n")
    assert made.notes == [
        "manifests.yaml:3: QOS/long: is left out (Priority 10, MaxTRESPU cpu=4): write a PriorityClass, or a group"
    ]


@pytest.mark.parametrize("accounts", [40])
def test_configuration_of_many_accounts_passes_check(tmp_path: Path, accounts: int) -> None:
    lines = ["Cluster - 'hpc':Fairshare=1", "Parent - 'root'"]
    lines += [
        f"Account - 'division{at}':Fairshare={at + 1}:GrpTRES=cpu={100 * (at + 1)},mem={4000 * (at + 1)}"
        for at in range(5)
    ]
    for at in range(accounts - 5):
        lines += [f"Parent - 'division{at % 5}'", f"Account - 'team{at}':Fairshare={1 + at % 7}:GrpTRES=cpu={20 + at}"]
        lines += [f"Parent - 'team{at}'", f"User - 'user{at}':DefaultAccount='team{at}':Fairshare=1"]
    made = Converted(tmp_path, "\n".join(lines) + "\n")
    assert (made.check(tmp_path)[0], len(made.groups()), len(made.notes)) == (0, accounts, 1)
