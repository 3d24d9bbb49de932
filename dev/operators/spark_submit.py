"""Stands in for Spark's `spark-submit`, which no Go module has: makes the driver's pod as the operator's user.

It reads the settings that the operator gives it, and adds what the operator's own webhook adds to the pod.
"""

import base64
import json
import os
import ssl
import sys
import urllib.request
from pathlib import Path
from typing import Any, Final

import yaml

_DRIVER: Final = "spark.kubernetes.driver."
_APPLICATIONS: Final = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/{}/sparkapplications/{}"


def main() -> int:
    """Make the pod."""
    words = sys.argv[1:]
    given = dict(words[at + 1].split("=", 1) for at, word in enumerate(words) if word == "--conf")
    namespace, name = given["spark.kubernetes.namespace"], words[words.index("--name") + 1]
    driver = request("GET", _APPLICATIONS.format(namespace, name))["spec"]["driver"]
    request("POST", f"/api/v1/namespaces/{namespace}/pods", driver_pod(given, driver))
    return 0


def driver_pod(given: dict[str, str], driver: dict[str, Any]) -> dict[str, Any]:
    """Return the driver's pod, from the template that the operator has written to a file."""
    pod: dict[str, Any] = yaml.safe_load(Path(given[f"{_DRIVER}podTemplateFile"]).read_text())
    container = pod["spec"]["containers"][0]
    memory = f"{_mebibytes(given['spark.driver.memory']) + _mebibytes(given['spark.driver.memoryOverhead'])}Mi"
    container |= {"image": "none", "resources": {"requests": {"cpu": given["spark.driver.cores"], "memory": memory}}}
    pod["metadata"] |= {
        "name": given[f"{_DRIVER}pod.name"],
        "labels": {**_with_prefix(given, f"{_DRIVER}label."), "spark-role": "driver"},
        "annotations": _with_prefix(given, f"{_DRIVER}annotation."),
    }
    pod["spec"] |= {
        "restartPolicy": "Never",
        "serviceAccountName": given["spark.kubernetes.authenticate.driver.serviceAccountName"],
        "nodeSelector": driver.get("nodeSelector", {}),
        "tolerations": driver.get("tolerations", []),
    }
    return {"apiVersion": "v1", "kind": "Pod", **pod}


def _with_prefix(given: dict[str, str], prefix: str) -> dict[str, str]:
    return {key.removeprefix(prefix): value for key, value in given.items() if key.startswith(prefix)}


def _mebibytes(text: str) -> int:
    return int(text.removesuffix("m"))


def request(method: str, path: str, body: object = None) -> Any:
    """Ask the API server as the user of KUBECONFIG. Raises OSError."""
    config = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    headers = {"Authorization": f"Bearer {user['token']}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(f"{cluster['server']}{path}", data, headers, method=method)  # noqa: S310
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    trusted = ssl.create_default_context(cadata=authority)
    with urllib.request.urlopen(asked, timeout=30, context=trusted) as answer:  # noqa: S310
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main())
