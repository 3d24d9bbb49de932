"""Plain pods: held by a scheduling gate, started, borrowing, and evicted by the API that respects budgets."""

from tests.e2e_node.site import Site, pod


def test_a_managed_pod_is_gated_then_runs_on_the_node(clean: Site) -> None:
    done = clean.apply(pod("alone", "vision", seconds=1))
    assert done.returncode == 0, done.stderr

    clean.until("it has succeeded", lambda: clean.phase("alone") == "Succeeded")


def test_a_pod_that_does_not_fit_stays_gated(clean: Site) -> None:
    clean.apply(pod("large", "vision", cpu="5"))
    clean.until(
        "it is explained", lambda: bool(clean.get("events", "--field-selector", "involvedObject.name=large")["items"])
    )

    gates = clean.get("pod", "large")["spec"]["schedulingGates"]
    assert [gate["name"].startswith("quotree.dev/") for gate in gates] == [True]


def test_borrowing_pod_is_evicted_for_the_lender(clean: Site) -> None:
    clean.submit("first", "vision", cpu="400m")
    clean.until("the promise is used up", lambda: clean.running("first"))
    clean.apply(pod("borrower", "vision", cpu="900m"))
    clean.until("the pod borrows", lambda: clean.phase("borrower") == "Running")

    clean.submit("owner", "language", cpu="400m", seconds=1)
    clean.until("the owner completes", lambda: clean.is_complete("owner"))

    left = clean.get("pods", "--field-selector", "metadata.name=borrower")["items"]
    assert [each["status"]["phase"] for each in left if each["status"]["phase"] == "Running"] == []
