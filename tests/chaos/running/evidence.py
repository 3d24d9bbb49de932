"""What a run leaves behind, to be looked into and judged again: logs, and the cluster once all had come to rest."""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Final

from shared.api.names import MANAGED_LABEL, TRUE
from tests.chaos.judging.at_rest import Rest
from tests.chaos.judging.checker import Expectations, Findings, check
from tests.chaos.judging.history.history import read_history
from tests.chaos.running.cluster_setup import RECONCILER, SKEW, Stage
from tests.chaos.running.workloads import CPUS, NAMESPACE

_REST: Final = "rest.json"


def keep(stage: Stage, rest: Rest, folder: Path | None) -> Path:
    """Copy the API server's log of writes and the processes' own logs, with what the lists said; return where to."""
    kept = folder or Path(tempfile.mkdtemp(prefix="quotree-chaos-found-"))
    kept.mkdir(parents=True, exist_ok=True)
    for log in (stage.audit_log, *(each.log for each in stage.processes)):
        shutil.copy(log, kept / log.name)
    (kept / _REST).write_text(json.dumps(rest.lists))
    return kept


def judge_again(folder: Path) -> Findings:
    """Check the history that a run has kept. What was lost or refused is not in it."""
    rest = Rest(json.loads((folder / _REST).read_text()))
    return check(read_history(folder / "audit.log"), expectations(rest))


def expectations(rest: Rest) -> Expectations:
    """What the checker needs to know about the cluster that came to this rest."""
    labels = next(each["metadata"] for each in rest.lists["namespaces"] if each["metadata"]["name"] == NAMESPACE)
    managed = labels.get("labels", {}).get(MANAGED_LABEL) == TRUE
    return Expectations(RECONCILER, rest.surrounding(), {"cpu": CPUS * 1000}, managed=managed, skew=SKEW)
