"""The APIService by which an aggregated API is registered, as far as Quotree reads and writes its own.

Without a service it is local, and no request is forwarded. With one that does not answer, Kubernetes cannot complete
its discovery, and deletes no namespace to the end: then it must go.
"""

import base64
from datetime import datetime
from typing import Any, Final

from shared.api.json.reading import View, reader

VISIBILITY_GROUP: Final = "visibility.quotree.dev"
VISIBILITY_VERSION: Final = "v1alpha1"
VISIBILITY_API: Final = f"{VISIBILITY_VERSION}.{VISIBILITY_GROUP}"
"""The name of the APIService of the visibility API."""
_PRIORITY: Final = 100


class ApiServiceReference(View, frozen=True):
    """The Service that is called."""

    name: str = ""
    namespace: str = ""
    port: int = 443


class _Spec(View, frozen=True):
    ca_bundle: bytes = b""
    service: ApiServiceReference | None = None


class _Condition(View, frozen=True):
    type: str = ""
    status: str = ""
    last_transition_time: datetime | None = None


class _Status(View, frozen=True):
    conditions: list[_Condition] = []


class _Metadata(View, frozen=True):
    uid: str = ""


class ApiServiceRecord(View, frozen=True):
    """An APIService as last seen."""

    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def unavailable_since(self) -> datetime | None:
        """Since when the API server cannot reach the service; None while it can, and for a local one."""
        if self.spec.service is None:
            return None
        found = (each for each in self.status.conditions if each.type == "Available" and each.status == "False")
        return next((each.last_transition_time for each in found), None)


read_api_service = reader(ApiServiceRecord)


def registration(service: ApiServiceReference, bundle: bytes) -> dict[str, Any]:
    """Return the merge patch that forwards requests to the service, whose certificate is verified with `bundle`."""
    place = {"name": service.name, "namespace": service.namespace, "port": service.port}
    return {"spec": {"service": place, "caBundle": base64.b64encode(bundle).decode()}}


def new_registration(service: ApiServiceReference, bundle: bytes) -> dict[str, Any]:
    """Return the APIService to create where there is none."""
    about = {
        "group": VISIBILITY_GROUP,
        "version": VISIBILITY_VERSION,
        "groupPriorityMinimum": _PRIORITY,
        "versionPriority": _PRIORITY,
    }
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": VISIBILITY_API, "labels": {"app.kubernetes.io/name": "quotree"}},
        "spec": about | registration(service, bundle)["spec"],
    }
