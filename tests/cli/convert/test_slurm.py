"""What sacctmgr prints becomes a legal tree with the same shares; what has no counterpart is named with its line."""

from pathlib import Path

import pytest

from shared.quota.model.tree import QueueOrder
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
            "manifests.yaml:10: User/ada: users of an account share its group in the order of their past use "
            "(order: User), by the names that they have in the cluster; limits of one user have no counterpart"
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


def test_priorities_of_qualities_of_service_are_a_setting_and_the_rest_is_named(tmp_path: Path) -> None:
    made = Converted(tmp_path, "Name|Priority|MaxTRESPU\nnormal|0|\nlong|10|cpu=4\n")
    assert made.notes == [
        (
            "manifests.yaml:2: QOS/normal Priority: set workloadPriorities: [{name: normal, value: 0}, "
            "{name: long, value: 10}] below `quota` in the chart's values; --qos is then the label "
            "quotree.dev/priority, which is refused until then"
        ),
        "manifests.yaml:3: QOS/long: is left out (MaxTRESPU cpu=4): limits of a QOS have no counterpart; write a group",
    ]


@pytest.mark.parametrize(
    ("own", "others", "expected"),
    [
        ("long", "normal", {"cpu": "50", "memory": "4Gi"}),
        ("long", "long", {"cpu": "100", "memory": "4Gi"}),
        ("normal,long", "normal", {"cpu": "100", "memory": "4Gi"}),
    ],
    ids=["its only one", "shared", "one of two"],
)
def test_limits_of_the_only_quality_of_an_account_are_its_own(
    tmp_path: Path, own: str, others: str, expected: dict[str, str]
) -> None:
    (tmp_path / "qos.txt").write_text("Name|Priority|GrpTRES|MaxWall\nlong|0|cpu=50,mem=9G|2-00:00:00\n")
    accounts = f"Account|Share|GrpTRES|QOS|Par Name\nphysics|1|cpu=100,mem=4G|{own}|root\nbio|1||{others}|root\n"
    made = Converted(tmp_path, accounts, str(tmp_path / "qos.txt"))
    spec = made.spec("physics")
    assert (spec["quotas"][0]["max"], spec.get("maxRunTime")) == (expected, "48h" if expected["cpu"] == "50" else None)
    assert made.check(tmp_path)[0] == 0


LABEL = "label the nodes of the partition ({}) slurm/partition={}, and jobs of --partition quotree.dev/flavor"
PARTITIONS = """PartitionName=gpu
   AllowGroups=ALL AllowAccounts=physics AllowQos=ALL
   Nodes=gpu[01-02] Default=NO MaxTime=2-00:00:00 State=UP

PartitionName=cpu AllowAccounts=ALL DenyAccounts=bio Nodes=c[001-100] Default=YES MaxTime=UNLIMITED PriorityTier=1
"""
NODES = """NodeName=gpu01 Arch=x86_64 CoresPerSocket=32
   AvailableFeatures=a100,nvlink
   Partitions=gpu

NodeName=gpu02 AvailableFeatures=v100 Partitions=gpu
NodeName=c001 AvailableFeatures=(null) Partitions=cpu,debug
"""


def test_partitions_and_features_are_flavors_of_the_accounts_that_may_use_them(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("partitions.txt", "nodes.txt")]
    for file, text in zip(files, (PARTITIONS, NODES), strict=True):
        file.write_text(text)
    accounts = "Account|Share|GrpTRES|Par Name\nphysics|1|cpu=100|root\ntheory|1||physics\nbio|1||root\nchem|1||root\n"
    made = Converted(tmp_path, accounts, *map(str, files))
    assert {each["metadata"]["name"]: each["spec"]["nodeLabels"] for each in made.of_kind("ResourceFlavor")} == {
        "cpu": {"slurm/partition": "cpu"},
        "gpu-a100-nvlink": {"slurm/partition": "gpu", "slurm/feature-a100": "true", "slurm/feature-nvlink": "true"},
        "gpu-v100": {"slurm/partition": "gpu", "slurm/feature-v100": "true"},
    }
    flavors = {each.name: [entry.flavor for entry in each.quotas] for each in made.groups()}
    every = ["cpu", "gpu-a100-nvlink", "gpu-v100"]
    assert flavors == {"physics": every, "theory": every, "bio": [], "chem": ["cpu"]}
    assert [each.partition(": ")[2] for each in made.notes] == [
        f"Partition/cpu Nodes: {LABEL.format('c[001-100]', 'cpu')}",
        f"Partition/gpu Nodes: {LABEL.format('gpu[01-02]', 'gpu')}; features are labels slurm/feature-…",
        "Partition/gpu MaxTime: 2-00:00:00 has no counterpart and is left out",
        (
            f"Account/physics GrpTRES: bounds all partitions together; here each of the flavors {', '.join(every)} "
            "has that max by itself"
        ),
        "Account/bio: may use no partition: its group has no quota",
    ]
    assert made.notes[2].startswith(f"{files[0].name}:1: ")
    assert made.check(tmp_path)[0] == 0


def test_partitions_with_nodes_in_common_are_named(tmp_path: Path) -> None:
    made = Converted(tmp_path, "PartitionName=a Nodes=n[1-9]\n\nPartitionName=b Nodes=n[1-9]\n")
    text = "partitions a, b have nodes in common: a node counts for one flavor, label it for one"
    assert made.notes[-1] == f"manifests.yaml:1: Partition/a Nodes: {text}"


def test_users_of_a_leaf_come_in_the_order_of_their_use_by_their_shares(tmp_path: Path) -> None:
    accounts = "Account|User|Share|Par Name\nphysics||1|root\ntheory||1|physics\n"
    rows = f"{accounts}theory|ada|3|\ntheory|bob|1|\nphysics|eve|1|\n"
    made = Converted(tmp_path, rows)
    assert made.spec("theory")["queueing"] == {"order": "User", "weights": {"ada": "3"}}
    assert "queueing" not in made.spec("physics")
    assert made.notes[-1].endswith("its account physics has accounts below it, and takes no jobs here")
    assert made.check(tmp_path)[0] == 0


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
    (tmp_path / "partitions.txt").write_text(
        "PartitionName=batch Default=YES Nodes=c[1-90] AllowAccounts=ALL\n\n"
        "PartitionName=gpu Nodes=g[1-9] AllowAccounts=division0,division1\n"
    )
    made = Converted(tmp_path, "\n".join(lines) + "\n", str(tmp_path / "partitions.txt"))
    assert (made.check(tmp_path)[0], len(made.groups())) == (0, accounts)
    assert sum(len(each.quotas) == 2 for each in made.groups()) == 2 + 14
    assert {each.order for each in made.groups() if each.name.startswith("team")} == {QueueOrder.USER}
