"""In which order the workers of a run take its tests: what lasts first, what shares a control plane together.

pytest-xdist's work stealing gives each worker one part of the list, and later takes tests from the end of the longest
part. So each part begins with whole modules that last, the parts lasting equally long, and ends with tests that need
nothing and may run anywhere. Seconds are rough: a wrong number costs balance and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import pytest

STARTS: Final = "control_plane_binaries"
"""The fixture that all tests with a control plane need."""
SHARED: Final = frozenset({"own_control_plane", "admission", "world", "jobsets"})
"""Fixtures with a control plane for the modules of a folder: one more worker that needs it starts one more."""
START: Final = 40.0
"""Seconds that one more control plane costs, until its end."""
LIVE_TEST: Final = 1.0
LONG: Final = {
    "chaos/test_chaos.py": 80,
    "charts/test_gitops.py": 30,
    "charts/test_kubernetes_versions.py": 30,
    "dashboard/test_live.py": 80,
    "dev/controlplane/test_cluster.py": 70,
    "dev/controlplane/test_ports.py": 30,
    "dev/release/test_plugin.py": 80,
    "e2e/test_edits.py": 40,
    "e2e/test_main_path.py": 130,
    "e2e/test_serving.py": 50,
    "e2e/test_visibility.py": 160,
    "fuzz/test_fuzz.py": 60,
    "gadgets/test_command_line.py": 20,
    "gadgets/test_gadgets.py": 90,
    "gadgets/test_many.py": 90,
    "jobset/test_governed.py": 50,
    "jobset/test_operator.py": 30,
    "prove/test_search.py": 60,
    "reconciler/live/test_changed_workloads.py": 100,
    "reconciler/live/test_closed_nodes.py": 50,
    "reconciler/live/test_evictions.py": 110,
    "reconciler/live/test_flavors.py": 30,
    "reconciler/live/test_growing_pod_groups.py": 100,
    "reconciler/live/test_half_started_groups.py": 30,
    "reconciler/live/test_hostile_owners.py": 170,
    "reconciler/live/test_kills.py": 200,
    "reconciler/live/test_large_objects.py": 80,
    "reconciler/live/test_late_writes.py": 40,
    "reconciler/live/test_leadership.py": 40,
    "reconciler/live/test_lifecycle.py": 40,
    "reconciler/live/test_many_jobs.py": 80,
    "reconciler/live/test_not_placed.py": 50,
    "reconciler/live/test_pod_controllers.py": 80,
    "reconciler/live/test_pod_sets.py": 50,
    "reconciler/live/test_pods.py": 90,
    "reconciler/live/test_pods_ready.py": 70,
    "reconciler/live/test_queues.py": 100,
    "reconciler/live/test_reclaim_terms.py": 120,
    "reconciler/live/test_stalled_leader.py": 70,
    "reconciler/live/test_stories.py": 70,
    "reconciler/live/test_unanswered_starts.py": 30,
    "reconciler/live/test_unusual_events.py": 120,
    "reconciler/live/test_workload_requests.py": 90,
    "shared/kube/lead/test_election.py": 70,
    "shared/kube/lead/test_own_thread.py": 40,
    "shared/kube/watch/test_watching_outages.py": 20,
    "shared/quota/decide/advise/test_remedies.py": 50,
    "shared/quota/decide/queue/test_predictions.py": 40,
    "shared/quota/decide/state/test_cycle_cache.py": 80,
    "shared/quota/decide/test_rounds.py": 30,
    "test_documented_commands.py": 40,
    "test_troubleshooting.py": 20,
    "webhook/live/test_restrictions_live.py": 30,
    "webhook/live/test_scope_live.py": 20,
    "webhook/live/test_serving_live.py": 70,
    "webhook/quota/test_concurrent_edits.py": 140,
    "webhook/tls/test_certificate_sources_live.py": 30,
}
"""Seconds of modules below `tests/`, where they are not those of their tests with a control plane."""


@dataclass(frozen=True, slots=True)
class Module:
    """The tests of one file, by their place in the list."""

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

    def ordered(self) -> list[int]:
        """Its tests: modules with the same control plane side by side, longest first."""
        together = sorted(self.modules, key=lambda each: (sorted(each.planes), -each.seconds, each.path))
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
    for part in parts:
        free = part.free
        order += part.ordered() + rest[:free]
        del rest[:free]
    return order


def arrange(items: list[pytest.Item], workers: int) -> None:
    """Put the tests of a run by so many workers into that order."""
    places: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        places.setdefault(item.nodeid.split("::", 1)[0], []).append(place)
    modules = [_module(path, tests, items) for path, tests in places.items()]
    items[:] = [items[place] for place in arranged(modules, workers)]


def _module(path: str, tests: list[int], items: list[pytest.Item]) -> Module:
    fixtures = [frozenset(getattr(items[each], "fixturenames", ())) for each in tests]
    live = sum(STARTS in each for each in fixtures)
    shared = frozenset().union(*fixtures)
    planes = {f"{path.split('/')[1]}: {each}" for each in shared & SHARED} | (shared & {"control_plane"})
    seconds = float(LONG.get(path.removeprefix("tests/"), LIVE_TEST * live))
    return Module(path, tuple(tests), seconds, frozenset(planes))
