"""What the reconciler's settings file may say. Keys and defaults are those of the chart's values.yaml.

Only what a file cannot know comes from elsewhere: the pod's own name and namespace from the environment.
"""

import os
import uuid
from datetime import timedelta

import msgspec

from shared.kube.lead.election import ElectionSettings
from shared.kube.lead.holder_pods import identity_of_pod
from shared.process.common_settings import ProcessSettings, home_namespace, instance_name

LEASE = "quotree-reconciler"


def _identity() -> str:
    pod = os.environ.get("POD_NAME")
    return identity_of_pod(pod) if pod else instance_name()


class ElectionFile(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`leaderElection:` the Lease that keeps two reconcilers from writing at once."""

    namespace: str = ""
    """Absent: the pod's own namespace ($POD_NAMESPACE), else quotree-system."""
    name: str = LEASE
    lease_duration: timedelta = timedelta(seconds=15)
    renew_deadline: timedelta = timedelta(seconds=10)
    retry_period: timedelta = timedelta(seconds=2)
    stall_limit: timedelta = timedelta(seconds=20)
    """How long the process may stand still, computing or decoding, before its Lease is no longer renewed."""

    def settings(self) -> ElectionSettings:
        """The same for `shared.kube`; the identity is new with every start of the process."""
        return ElectionSettings(
            namespace=home_namespace(self.namespace),
            name=self.name,
            identity=f"{_identity()}_{uuid.uuid4().hex[:8]}",
            lease_duration=self.lease_duration,
            renew_deadline=self.renew_deadline,
            retry_period=self.retry_period,
        )


class ReconcilerSettings(ProcessSettings, frozen=True):
    """The whole file."""

    leader_election: ElectionFile = ElectionFile()
    status_interval: timedelta = timedelta(seconds=1)
    """The least time between two writes of one group's status."""
