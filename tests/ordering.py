"""In which order the workers of a run take its tests: what lasts first, what shares a control plane together.

pytest-xdist's work stealing gives each worker one part of the list, and later takes tests from the end of the longest
part. So each part begins with whole modules that last, the parts lasting equally long, and ends with tests that need
nothing and may run anywhere. Some modules compute and others mostly wait; every other part takes its modules the other
way round, so that some workers compute while others wait. Seconds are rough: a wrong number costs balance alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import pytest

STARTS: Final = "control_plane_binaries"
"""The fixture that all tests with a control plane need."""
SHARED: Final = frozenset({"own_control_plane", "admission", "plain_control_plane", "world", "jobsets"})
"""Fixtures with a control plane for the modules of a folder: one more worker that needs it starts one more."""
START: Final = 20.0
"""Seconds that one more control plane costs, until its end."""
LIVE_TEST: Final = 1.0
LONG: Final = {
    "chaos/test_chaos.py": 100,
    "charts/test_gitops.py": 30,
    "charts/test_kubernetes_versions.py": 25,
    "charts/test_names_and_labels.py": 40,
    "charts/test_upgrade_defaults.py": 30,
    "cli/convert/test_live.py": 25,
    "cli/live/test_rights.py": 25,
    "cli/test_screens.py": 35,
    "dashboard/test_in_cluster.py": 25,
    "dashboard/test_live.py": 55,
    "dev/controlplane/test_cluster.py": 45,
    "dev/controlplane/test_commands.py": 20,
    "dev/controlplane/test_getting_binaries.py": 25,
    "dev/controlplane/test_ports.py": 30,
    "dev/mutants/test_trials.py": 25,
    "dev/release/test_plugin.py": 55,
    "documented/test_commands.py": 70,
    "documented/test_troubleshooting.py": 20,
    "e2e/test_edits.py": 25,
    "e2e/test_gangs.py": 40,
    "e2e/test_main_path.py": 140,
    "e2e/installed/test_orphans.py": 30,
    "e2e/test_recorded.py": 30,
    "e2e/test_remedies.py": 95,
    "e2e/installed/test_serving.py": 35,
    "e2e/installed/test_upgrade.py": 15,
    "e2e/visibility": 255,
    "fuzz/test_fuzz.py": 40,
    "gadgets/test_gadgets.py": 115,
    "gadgets/test_many.py": 55,
    "jobset/test_governed.py": 30,
    "project/test_dead_code.py": 30,
    "project/test_words.py": 20,
    "prove/test_fairness.py": 20,
    "prove/test_large_jobs.py": 20,
    "prove/test_search.py": 65,
    "reconciler/live/accounts/test_account_faults.py": 85,
    "reconciler/live/accounts/test_accounts.py": 150,
    "reconciler/live/accounts/test_budgets.py": 80,
    "reconciler/live/accounts/test_calendar.py": 150,
    "reconciler/live/faults/test_kills.py": 45,
    "reconciler/live/faults/test_late_writes.py": 25,
    "reconciler/live/faults/test_poison.py": 45,
    "reconciler/live/faults/test_stalled_leader.py": 90,
    "reconciler/live/nodes/test_closed_nodes.py": 40,
    "reconciler/live/nodes/test_devices.py": 25,
    "reconciler/live/nodes/test_flavors.py": 45,
    "reconciler/live/nodes/test_node_sizes.py": 15,
    "reconciler/live/nodes/test_not_placed.py": 35,
    "reconciler/live/nodes/test_preempted_by_scheduler.py": 20,
    "reconciler/live/owners/test_brought_in.py": 30,
    "reconciler/live/owners/test_changed_workloads.py": 90,
    "reconciler/live/owners/test_hostile_owners.py": 105,
    "reconciler/live/owners/test_large_objects.py": 35,
    "reconciler/live/owners/test_unusual_events.py": 40,
    "reconciler/live/pods/test_growing_pod_groups.py": 25,
    "reconciler/live/pods/test_pod_controllers.py": 15,
    "reconciler/live/pods/test_pods.py": 20,
    "reconciler/live/pods/test_slow_pods.py": 160,
    "reconciler/live/stopping/test_evictions.py": 35,
    "reconciler/live/stopping/test_pods_ready.py": 40,
    "reconciler/live/stopping/test_reclaim_terms.py": 85,
    "reconciler/live/stopping/test_run_time.py": 15,
    "reconciler/live/test_kept_start_times.py": 30,
    "reconciler/live/test_lifecycle.py": 20,
    "reconciler/live/test_many_jobs.py": 20,
    "reconciler/live/test_recording.py": 70,
    "reconciler/live/test_stories.py": 15,
    "reconciler/live/test_windows.py": 190,
    "reconciler/live/test_workload_requests.py": 20,
    "reconciler/live/waiting/test_queues.py": 75,
    "reconciler/live/waiting/test_requester_order.py": 295,
    "reconciler/live/waiting/test_turns.py": 130,
    "reconciler/live/waiting/test_waiting_annotation.py": 65,
    "shared/kube/lead/test_election.py": 110,
    "shared/kube/lead/test_own_thread.py": 70,
    "shared/kube/watch/test_watching.py": 20,
    "shared/kube/watch/test_watching_chaos.py": 20,
    "shared/kube/watch/test_watching_outages.py": 35,
    "shared/quota/outlook/advise/test_remedies.py": 35,
    "shared/quota/decide/queue/test_borrowers.py": 50,
    "shared/quota/decide/state/test_cycle_cache.py": 45,
    "shared/quota/decide/test_rounds.py": 20,
    "shared/quota/measure/test_fair_over_time.py": 30,
    "shared/quota/model/rules/test_own_rules.py": 20,
    "shared/quota/reference/test_numbers_against_reference.py": 15,
    "webhook/live/test_evasion_live.py": 25,
    "webhook/live/quota/test_names_live.py": 40,
    "webhook/live/quota/test_quota_rules_live.py": 30,
    "webhook/live/test_restrictions_live.py": 35,
    "webhook/live/test_scope_live.py": 30,
    "webhook/live/test_serving_live.py": 40,
    "webhook/live/test_workload_rules_live.py": 10,
    "webhook/quota/test_concurrent_edits.py": 65,
    "webhook/quota/test_edit_rights.py": 30,
    "webhook/quota/test_timed_edits.py": 15,
    "webhook/tls/test_certificate_sources_live.py": 35,
}
"""Seconds of modules below `tests/`, where they are not those of their tests with a control plane."""
TOGETHER: Final = ("tests/e2e/visibility",)
"""Folders that are ordered as one module, because their modules share a control plane of their own."""


@dataclass(frozen=True, slots=True)
class Module:
    """The tests of one file, or of one folder of TOGETHER, by their place in the list."""

    path: str
    tests: tuple[int, ...]
    seconds: float
    planes: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Part:
    """What one worker gets: at most `size` tests."""

    size: int
    modules: list[Module] = field(default_factory=list)
    seconds: float = 0.0
    planes: set[str] = field(default_factory=set)

    @property
    def free(self) -> int:
        return self.size - sum(len(each.tests) for each in self.modules)

    def would_last(self, module: Module) -> float:
        return self.seconds + module.seconds + START * len(module.planes - self.planes)

    def add(self, module: Module) -> None:
        self.seconds = self.would_last(module)
        self.modules.append(module)
        self.planes |= module.planes

    def ordered(self, *, backwards: bool) -> list[int]:
        """Its tests: modules with the same control plane side by side, longest first."""
        longest_first = sorted(self.modules, key=lambda each: (-each.seconds, each.path))
        together = sorted(longest_first, key=lambda each: sorted(each.planes), reverse=backwards)
        return [test for each in together for test in each.tests]


def arranged(modules: Sequence[Module], workers: int) -> list[int]:
    """The places of all tests in their new order."""
    total = sum(len(each.tests) for each in modules)
    parts: list[_Part] = []
    for left in range(workers, 0, -1):
        parts.append(_Part((total - sum(each.size for each in parts)) // left))
    rest: list[int] = []
    for module in sorted(modules, key=lambda each: (-each.seconds, each.path)):
        fitting = [each for each in parts if each.free >= len(module.tests)] if module.seconds else []
        if fitting:
            min(fitting, key=lambda part: part.would_last(module)).add(module)
        else:
            rest += module.tests
    rest.sort()
    order: list[int] = []
    for number, part in enumerate(parts):
        free = part.free
        order += part.ordered(backwards=number % 2 == 1) + rest[:free]
        del rest[:free]
    return order


def arrange(items: list[pytest.Item], workers: int) -> None:
    """Put the tests of a run by so many workers into that order."""
    places: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        places.setdefault(_module_path(item.nodeid), []).append(place)
    modules = [_module(path, tests, items) for path, tests in places.items()]
    items[:] = [items[place] for place in arranged(modules, workers)]


def _module_path(nodeid: str) -> str:
    """Return the file of a test, or the folder of TOGETHER that has it."""
    path = nodeid.split("::", 1)[0]
    return next((folder for folder in TOGETHER if path.startswith(f"{folder}/")), path)


def _module(path: str, tests: list[int], items: list[pytest.Item]) -> Module:
    fixtures = [frozenset(getattr(items[each], "fixturenames", ())) for each in tests]
    live = sum(STARTS in each for each in fixtures)
    shared = frozenset().union(*fixtures)
    planes = {f"{path.split('/')[1]}: {each}" for each in shared & SHARED} | (shared & {"control_plane"})
    seconds = float(LONG.get(path.removeprefix("tests/"), LIVE_TEST * live))
    return Module(path, tuple(tests), seconds, frozenset(planes))
