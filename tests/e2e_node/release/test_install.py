"""helm install with default values: ready, under restricted Pod Security, from the slim image."""

from tests.documented.documentation import commands
from tests.e2e_node.reader import Reader
from tests.e2e_node.site import NAMESPACE, Site


def test_every_process_is_ready_after_an_install_with_default_values(quotree: Site) -> None:
    assert quotree.ready("webhook")
    assert quotree.ready("reconciler")
    restarts = [
        status["restartCount"]
        for component in ("webhook", "reconciler")
        for pod in quotree.pods(component)
        for status in pod["status"]["containerStatuses"]
    ]
    assert restarts == [0, 0, 0, 0]


def test_helm_test_shows_the_responses_of_both_processes(quotree: Site) -> None:
    message = quotree.helm("test", "quotree", "--logs").stdout
    for component in ("webhook", "reconciler"):
        assert f"POD LOGS: quotree-test-{component}\nquotree-{component}.{NAMESPACE}.svc ok" in message


def test_troubleshooting_commands_show_pods_health_and_log_of_the_webhook(quotree: Site, reader: Reader) -> None:
    pods, health, log = (reader.types(command) for command in commands("docs/troubleshooting.md"))
    assert pods.count("1/1") == 2
    assert "watches" in health
    assert "Caches synced" in log


def test_the_pods_pass_the_restricted_pod_security_standard(quotree: Site) -> None:
    label = "pod-security.kubernetes.io/enforce=restricted"
    done = quotree.cluster.kubectl("label", "namespace", NAMESPACE, label, "--overwrite", "--dry-run=server")

    assert "Warning" not in done.stderr


def test_processes_run_as_an_unprivileged_user(quotree: Site) -> None:
    for pod in (*quotree.pods("webhook"), *quotree.pods("reconciler")):
        name = pod["metadata"]["name"]
        who = quotree.kubectl(
            "exec", "-n", NAMESPACE, name, "--", "python", "-c", "import os; print(os.getuid(), os.getgid())"
        )
        assert who.split() == ["65532", "65532"]


def test_built_in_groups_exist(quotree: Site) -> None:
    quotree.until("root has been measured", lambda: "root" in _measured(quotree))

    assert {"root", "system", "default"} <= {each["metadata"]["name"] for each in quotree.get("quotagroups")["items"]}


def _measured(site: Site) -> set[str]:
    return {
        each["metadata"]["name"] for each in site.get("quotagroups")["items"] if each.get("status", {}).get("quotas")
    }


def test_the_first_quota_edits_after_helm_wait_are_accepted(tree: Site) -> None:
    assert tree.get("quotagroup", "vision")["spec"]["parent"] == "research"
