"""A leader has a copy forecast some of what waits, and keeps what it finds."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from reconciler.report.latest_plan import LatestPlan
from reconciler.visibility.forecast_checks import ForecastChecks
from shared.api.owner_settings import OwnRunTime
from shared.cluster.state.cluster_state import ClusterState
from shared.quota.decide.plan import plan
from shared.quota.measure.accounts.periods import milliseconds
from shared.quota.measure.snapshot import measure
from shared.quota.model.settings import QuotaSettings
from shared.quota.outlook.forecast.checks import ForeseenStarts
from tests.builders import NOW, pending, running, world
from tests.shared.kube.servers import until

LASTING = OwnRunTime(timedelta(hours=1))


async def test_forecasts_of_a_copy_are_kept_while_something_waits() -> None:
    job, kept, latest = pending("a", 8, "next", run_time=LASTING), list[ForeseenStarts](), LatestPlan()
    checks = ForecastChecks(ClusterState(QuotaSettings()), latest, kept.append, timedelta(milliseconds=1))
    running_checks = asyncio.create_task(checks.run())

    def decide(*waiting: object) -> None:
        work = [replace(running("a", 8, "now"), run_time=LASTING), *([job] if waiting else [])]
        snapshot = measure(world("root 8\n  a 8", work), NOW)
        latest.show(snapshot, plan(snapshot))

    decide()
    await asyncio.sleep(0.05)
    assert kept == []
    decide(job)
    await until(lambda: kept != [])
    running_checks.cancel()
    ((workload, foreseen),) = kept[0]["a"].items()
    assert workload == job.id
    assert foreseen.made == milliseconds(NOW)
    assert foreseen.made < foreseen.earliest < foreseen.latest
