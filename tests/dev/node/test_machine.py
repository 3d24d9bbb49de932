"""What a node leaves behind is what is there now and was not before."""

from dataclasses import replace

from dev.node.machine import state

BEFORE = state.Machine(
    mounts=["/", "/proc"],
    links=["eth0", "lo"],
    tables=["ip filter"],
    cgroups=["/sys/fs/cgroup/unified"],
    settings={"net/ipv4/ip_forward": "0"},
    folders=[],
    processes=[],
)


def test_equal_machine_states_have_no_difference() -> None:
    assert state.difference(BEFORE, BEFORE) == {}


def test_added_and_changed_entries_are_listed() -> None:
    after = replace(BEFORE, mounts=["/", "/proc", "/run/netns/x"], settings={"net/ipv4/ip_forward": "1"})

    assert state.difference(BEFORE, after) == {
        "mounts": ["/run/netns/x"],
        "settings": ["net/ipv4/ip_forward=1, was 0"],
    }


def test_removed_entries_are_ignored() -> None:
    assert state.difference(BEFORE, replace(BEFORE, mounts=["/"], links=["lo"])) == {}


def test_setting_of_a_loaded_kernel_module_is_ignored() -> None:
    after = replace(BEFORE, settings={**BEFORE.settings, "net/netfilter/nf_conntrack_max": "262144"})

    assert state.difference(BEFORE, after) == {}


def test_only_mounts_of_the_node_are_read() -> None:
    mounts = ["/", "/proc", "/run/netns/x", "/var/lib/kubelet/pods/y", "/mnt/of/another/user", "/run/netns-of-others"]

    assert [each for each in mounts if state.is_of_a_node(each)] == ["/run/netns/x", "/var/lib/kubelet/pods/y"]


def test_this_machine_can_be_read() -> None:
    here = state.read()

    assert "lo" in here.links
    assert "net/ipv4/ip_forward" in here.settings
