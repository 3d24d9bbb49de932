"""Reads whether a Lease is held, before a process takes part in its election."""

from shared.kube.client import Client
from shared.kube.errors import ApiError
from shared.kube.lead.election_settings import ElectionSettings
from shared.kube.lead.lease import Lease, LeaseMark
from shared.kube.resources import LEASES


async def vacant_lease(client: Client, settings: ElectionSettings) -> LeaseMark | None:
    """Return the Lease as it is while no process holds it; None while one does, or when that is not known.

    A candidate that takes it unchanged (`Election.taken_from`) knows that no process has led since.
    """
    try:
        lease = await client.get(LEASES, settings.name, settings.namespace, into=Lease)
    except ApiError:
        return None
    return None if lease.holder else lease.mark
