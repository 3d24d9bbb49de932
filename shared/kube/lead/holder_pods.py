"""Whether the pod that holds a Lease is gone, so that the next leader need not wait for the Lease to run out.

A process in a pod puts the pod's name into its identity. Kubernetes removes a pod's object when its containers have
ended; who deletes a pod by force says the same. A holder that is not a pod is never known to be gone.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from shared.kube.client import Client, ObjectMetadata
from shared.kube.errors import ApiError, NotFound
from shared.kube.resources import PODS

_POD: Final = "pod:"


def identity_of_pod(name: str) -> str:
    """Return the start of the identity of a process in this pod."""
    return f"{_POD}{name}"


def gone_pods(client: Client, namespace: str) -> Callable[[str], Awaitable[bool]]:
    """Return a function that says whether a holder is a pod of `namespace` that does not exist any more."""

    async def is_gone(holder: str) -> bool:
        if not holder.startswith(_POD):
            return False
        try:
            await client.get(PODS, holder.removeprefix(_POD).partition("_")[0], namespace, into=ObjectMetadata)
        except NotFound:
            return True
        except ApiError:
            return False
        return False

    return is_gone
