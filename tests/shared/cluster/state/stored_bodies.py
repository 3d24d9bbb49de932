"""Objects as they are stored, for `SimulatedWatches`."""

from typing import Any

from shared.api.names import (
    ADMISSION,
    EVICTION,
    GATE,
    GROUP_LABEL,
    POD_GROUP_LABEL,
    POD_GROUP_SIZE_LABEL,
    POD_SET_LABEL,
    UNIT_LABEL,
)
from tests.shared.cluster.state.simulated_watches import TIME, Body
from tests.shared.kinds.objects import jobset, replicated

ADMITTED = '{"flavors":{"cpu":"default"},"time":"2026-01-01T00:00:00Z"}'
STARTED = {ADMISSION: ADMITTED}
STARTED_ALONE = {ADMISSION: '{"flavors":{"cpu":"default"},"time":"2026-01-01T00:00:00Z","members":[]}'}
STARTED_SETS = {ADMISSION: '{"podSets":{"workers":{"cpu":"default"}},"time":"2026-01-01T00:00:00Z"}'}
EVICTED = {EVICTION: '{"reason":"Reclaimed","time":"2026-01-01T00:00:00Z","flavors":{"cpu":"default"}}'}
VISION, NLP = {GROUP_LABEL: "vision"}, {GROUP_LABEL: "nlp"}
GANG = VISION | {POD_GROUP_LABEL: "gang", POD_GROUP_SIZE_LABEL: "2"}
OF_SET = VISION | {UNIT_LABEL: "the uid of train", POD_SET_LABEL: "workers"}
FINISHED = [{"type": "Complete", "status": "True"}]
CONTAINERS = [{"resources": {"requests": {"cpu": "1"}}}]


def metadata(labels: Body, annotations: Body, *, ending: bool = False) -> Body:
    return {"labels": labels, "annotations": annotations} | ({"deletionTimestamp": TIME} if ending else {})


def job(labels: Body, annotations: Body | None = None, *, ending: bool = False, **status: Any) -> Body:
    template = {"spec": {"containers": CONTAINERS}}
    spec = {"suspend": annotations != STARTED, "parallelism": 1, "completions": 1, "template": template}
    return {"metadata": metadata(labels, annotations or {}, ending=ending), "spec": spec, "status": status}


def pod(
    labels: Body,
    annotations: Body | None = None,
    *,
    node: str = "",
    gated: bool = False,
    job: str = "",
    ending: bool = False,
    phase: str = "Pending",
) -> Body:
    gates = [{"name": GATE}] if gated else []
    spec = {"containers": CONTAINERS, "nodeName": node, "schedulingGates": gates}
    about = metadata(labels, annotations or {}, ending=ending)
    return {"metadata": about, "spec": spec, "status": {"phase": phase}, "job": job}


def train(annotations: Body, **status: Any) -> Body:
    body = jobset(replicated("workers"), suspend=not annotations)
    return {**body, "metadata": metadata(VISION, annotations), "status": status}


def node(cpu: str, *, closed: bool = False, **labels: str) -> Body:
    status = {"allocatable": {"cpu": cpu}, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"metadata": {"labels": labels}, "spec": {"unschedulable": closed}, "status": status}
