"""What the webhook keeps of a QuotaGroup's status."""

import msgspec

from webhook.quota.quota_cache import group_record

STATUS = {
    "quotas": [
        {
            "flavor": "a100",
            "capacity": {"nvidia.com/gpu": "16"},
            "largestNodes": [{"nvidia.com/gpu": "8", "cpu": "64"}],
        },
        {"flavor": "t4", "capacity": {"cpu": "nonsense"}, "largestNodes": []},
        {"flavor": "many"},
    ]
}


def test_largest_nodes_are_read_from_the_status_of_root() -> None:
    found = group_record(msgspec.json.encode({"metadata": {"name": "root"}, "spec": {}, "status": STATUS}))
    assert found.nodes == {"a100": ({"nvidia.com/gpu": 8, "cpu": 64000},), "t4": ()}
    assert found.capacity == {("a100", "nvidia.com/gpu"): 16}
