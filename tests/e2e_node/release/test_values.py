"""helm install with every value that names, labels and places: other names, labels of its own, the node's network."""

from pathlib import Path

import yaml

from tests.charts.rendering import VALUES
from tests.e2e_node.site import CHART, OPEN, Site, job

# Both processes run on the network of the only node, so each port is taken once; the metrics are on the health port.
ONE_NODE = {
    "webhook": {"hostNetwork": True, "replicas": 1, "healthPort": 18081, "port": 19443},
    "reconciler": {"replicas": 1, "healthPort": 18082},
    "visibility": {"enabled": True, "hostNetwork": True, "port": 19444},
    "dashboard": {"enabled": True},
    "metrics": {"authorization": "None"},
    # The node has no zone.
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    ],
}
PENDING = ("get", "pendingworkloads", "--namespace", "default")


def test_an_installation_with_other_names_labels_and_network_works(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(VALUES["all"] | ONE_NODE))
    site.helm("uninstall", "another", "--wait", "--timeout", "120s", "--ignore-not-found")
    site.helm("install", "quotree", CHART, "--take-ownership", "--wait", "--timeout", "180s", "-f", str(file), *OPEN)

    addresses = {each["address"] for each in site.get("nodes")["items"][0]["status"]["addresses"]}
    for component in ("webhook", "reconciler"):
        site.until(f"the {component} is ready", lambda component=component: site.ready(component, 1))  # type: ignore[misc]
        (pod,) = site.pods(component)
        assert pod["status"]["podIP"] in addresses
        assert VALUES["all"]["podLabels"].items() <= pod["metadata"]["labels"].items()
    site.until("a Job is accepted", lambda: site.apply(job("named", "vision", seconds=1)).returncode == 0)
    site.until("it completes", lambda: site.is_complete("named"))
    held = site.apply(job("large", "vision", cpu="64"))
    assert held.returncode == 0, held.stderr
    site.until(
        "the visibility API says what waits", lambda: "large" in site.cluster.kubectl(*PENDING, check=False).stdout
    )
    assert site.helm("test", "quotree").stdout.count("Phase:          Succeeded") == 2


def test_uninstalling_it_leaves_no_active_part(site: Site) -> None:
    site.clear()
    site.helm("uninstall", "quotree", "--wait", "--timeout", "120s")
    kinds = (
        "mutatingwebhookconfigurations,validatingwebhookconfigurations,validatingadmissionpolicies,clusterroles,"
        "clusterrolebindings,flowschemas,prioritylevelconfigurations,apiservices"
    )
    left = site.get(kinds, "-l", "app.kubernetes.io/name=shares")["items"]
    assert [f"{each['kind']}/{each['metadata']['name']}" for each in left] == []
