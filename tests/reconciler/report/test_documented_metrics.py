"""The table of metrics in docs/operations.md lists exactly what the two processes export."""

import re
from pathlib import Path
from typing import cast

from prometheus_client import CollectorRegistry

from reconciler.report.account_metrics import AccountCollector
from reconciler.report.fault_reports import FaultReports
from reconciler.report.metrics import ReconcilerMetrics
from reconciler.visibility.front.metrics import VisibilityMetrics
from shared.cluster.state.cluster_state import ClusterState
from shared.cluster.state.faults.register import Faults
from shared.kube.events.recorder import EventRecorder
from shared.kube.metrics import expose_election, expose_events, expose_watches
from shared.kube.watch.watches import Watches
from shared.quota.decide.plan import plan
from shared.quota.measure.snapshot import measure
from shared.quota.model.settings import QuotaSettings
from shared.telemetry import request_observer
from tests.account_books import PromptBook
from tests.builders import NOW, world
from webhook.metrics import WebhookMetrics


class Silent:
    """An election that is never run, and a recorder that has dropped nothing."""

    dropped = 0

    def may_write(self) -> bool:
        return False


def documented() -> set[str]:
    text = Path("docs/operations.md").read_text()
    section = text.split("## Metrics")[1].split("\n## ")[0]
    names: set[str] = set()
    for row in re.findall(r"^\| (`[^|]+`) \|", section, re.MULTILINE):
        for name in re.findall(r"`(quotree_[^`]+)`", row):
            stem, _, options = name.partition("{")
            names |= {stem + option for option in options.rstrip("}").split(",")} if options else {name}
    return names


def exported() -> set[str]:
    registry = CollectorRegistry()
    metrics = ReconcilerMetrics(registry, Faults())
    FaultReports(Faults(), registry)
    snapshot = measure(world("root 8\n  vision 4"), NOW)
    metrics.groups.show(snapshot, plan(snapshot))
    leading = ClusterState(QuotaSettings())
    leading.accounts = PromptBook()
    registry.register(AccountCollector(leading))
    WebhookMetrics(registry)
    VisibilityMetrics(registry)
    request_observer(registry)
    expose_watches(registry, Watches())
    expose_election(registry, lambda: False)
    expose_events(registry, cast("EventRecorder", Silent()))
    families = [each for each in registry.collect() if each.name.startswith("quotree_")]
    return {f"{each.name}_total" if each.type == "counter" else each.name for each in families}


def test_documented_table_lists_every_exported_metric() -> None:
    assert documented() == exported()
