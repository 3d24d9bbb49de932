"""What goes wrong, by name: episodes of each kind for a while, over the noise of small ones."""

from typing import Final

from tests.chaos.running import network_faults as network
from tests.chaos.running import owner_faults as owners
from tests.chaos.running import process_faults as processes
from tests.chaos.running.episode import Faults
from tests.faults.kinds import CutAnswer, Delay, LoseAnswer, Refuse, always, writes

KINDS: Final[Faults] = {
    "a conflict on every write": (2, 4, network.storm((Refuse(409), writes, 1.0))),
    "429 to nearly everything": (2, 4, network.storm((Refuse(429, retry_after=1), always, 0.8))),
    "half of the answers cut": (3, 6, network.storm((LoseAnswer(), writes, 0.5), (CutAnswer(600), always, 0.5))),
    "500 and 503": (2, 4, network.storm((Refuse(500), always, 0.3), (Refuse(503), always, 0.3))),
    "a slow network": (3, 6, network.storm((Delay(0.2, 1.5), always, 1.0))),
    "a silent watch": (4, 8, network.silent_watches),
    "a reconciler cut off": (8, 12, network.partition),
    "a reconciler frozen": (8, 12, processes.frozen(processes.one_reconciler)),
    "a reconciler killed": (0, 1, processes.kill),
    "a webhook killed": (0, 1, processes.kill_webhook),
    "all webhooks killed": (0, 1, processes.kill_webhooks),
    "a webhook frozen": (2, 5, processes.frozen(processes.webhook)),
    "all processes killed": (0, 1, processes.kill_all),
    "the API server frozen": (1, 5, processes.frozen(lambda stage, _: stage.cluster.processes["kube-apiserver"])),
    "etcd frozen": (1, 3, processes.frozen(lambda stage, _: stage.cluster.processes["etcd"])),
    "the API server restarted": (0, 3, processes.restart_api_server),
    "the API server killed": (0, 3, processes.kill_api_server),
    "etcd compacted under cut watches": (1, 3, processes.gone),
    "a ceiling lowered": (4, 8, owners.lower_a_ceiling),
    "a node lost": (6, 10, owners.lose_a_node),
    "a team moved": (4, 8, owners.move_a_team),
    "jobs held by their owners": (1, 3, owners.held_by_owners(owners.JOBS)),
    "a job that poisons a step": (2, 6, owners.poison_a_step),
    "jobs deleted by their owners": (0, 1, owners.deleted_by_owners(owners.JOBS)),
}
OF_JOBSETS: Final[Faults] = {
    "JobSet's operator killed": (0, 1, processes.kill_operator),
    "JobSet's operator away": (4, 10, processes.operator_away),
    "JobSet's operator frozen": (3, 8, processes.frozen(lambda stage, _: processes.operator(stage))),
    "JobSets held by their owners": (1, 3, owners.held_by_owners(owners.JOBSETS)),
    "JobSets deleted by their owners": (0, 1, owners.deleted_by_owners(owners.JOBSETS)),
}
"""Beside `KINDS`, where there are JobSets."""
