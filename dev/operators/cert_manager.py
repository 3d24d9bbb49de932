"""cert-manager, which the chart can take its certificates from: three programs of one module."""

from dataclasses import replace
from typing import Final

from dev.operators.recipe import Operator

_CHART: Final = "deploy/charts/cert-manager"
_DEFINED: Final = ("certificaterequests", "certificates", "challenges", "clusterissuers", "issuers", "orders")
CERT_MANAGER_WEBHOOK: Final = Operator(
    "cert-manager-webhook",
    "github.com/cert-manager/cert-manager",
    # The last whose programs are in one module: those of later versions are not published as modules.
    "v1.11.5",
    "h1:K2LurvwIE4hIhODQZnkOW6ljYe3lVMAliS/to+gI05o=",
    "./cmd/webhook",
    _CHART,
    ("default", "cert-manager-webhook"),
    copies=(
        (f"{_CHART}/Chart.template.yaml", f"{_CHART}/Chart.yaml"),
        *((f"deploy/crds/crd-{name}.yaml", f"{_CHART}/templates/crd-{name}.yaml") for name in _DEFINED),
    ),
)
CERT_MANAGER: Final = replace(
    CERT_MANAGER_WEBHOOK,
    name="cert-manager",
    package="./cmd/controller",
    manifests="",
    account=("default", "cert-manager"),
    copies=(),
)
CAINJECTOR: Final = replace(
    CERT_MANAGER, name="cainjector", package="./cmd/cainjector", account=("default", "cert-manager-cainjector")
)
ALL: Final = (CERT_MANAGER_WEBHOOK, CERT_MANAGER, CAINJECTOR)
"""What issues certificates and writes authorities; the first brings the definitions and rights of all."""
