"""What sacctmgr prints becomes a legal tree with the same shares; what has no counterpart is named with its line."""

from pathlib import Path

import pytest

from tests.cli.convert.converting import Converted

DUMP = """# To edit this file start with a cluster line for the new cluster
Cluster - 'hpc':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'physics':Description='physics':Organization='science':Fairshare=30:GrpTRES=cpu=100,mem=4000,gres/gpu=8
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
    assert physics["max"] == {"cpu": "100", "memory": "4000Mi", "nvidia.com/gpu": "8"}
    assert [made.spec(name)["quotas"][0]["weight"]["cpu"] for name in ("physics", "bio-lab")] == ["30", "10"]
    assert made.notes == [
        (
            "manifests.yaml:6: Account/bio_lab GrpTRES: license/x=2 is left out: "
            "no resource of pods is counted by that name"
        ),
        (
            "manifests.yaml:6: Account/bio_lab GrpTRESMins: cpu=5000 is left out: "
            "budgets of resources times time have no counterpart"
        ),
        (
            "manifests.yaml:8: Account/theory Fairshare: is parent: its users compete with those of other accounts; "
            "weight 1"
        ),
        (
            "manifests.yaml:10: User/ada: users of an account share its group in the order of their jobs: "
            "limits and fairness by user have no counterpart"
        ),
        "manifests.yaml:10: User/ada MaxWallDurationPerJob: 60 is left out: limits of run time have no counterpart",
    ]
    assert made.check(tmp_path)[0] == 0


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
