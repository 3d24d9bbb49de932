"""What is known of namespaces."""

from shared.api.core.limitrange import NO_DEFAULTS, LimitRange, container_defaults, read_limit_range
from shared.api.core.namespace import read_namespace
from shared.quota.model.namespace_context import NamespaceContexts


def test_namespace_is_known_from_when_it_is_seen_until_it_is_gone() -> None:
    contexts, namespace = NamespaceContexts(), read_namespace({"metadata": {"name": "ns"}})
    assert not contexts.knows("ns")
    contexts.observe_namespaces([(None, namespace)])
    assert contexts.knows("ns")
    contexts.observe_namespaces([(namespace, None)])
    assert not contexts.knows("ns")


def limit_range(cpu: str) -> LimitRange:
    limits = [{"type": "Container", "defaultRequest": {"cpu": cpu}}]
    return read_limit_range({"metadata": {"name": "limits", "namespace": "ns"}, "spec": {"limits": limits}})


def test_limit_range_counts_as_it_is_now_until_it_is_gone() -> None:
    contexts, one, two = NamespaceContexts(), limit_range("1"), limit_range("2")
    found = []
    for transition in ((None, one), (one, two), (two, None)):
        assert contexts.observe_limit_ranges([transition]) == {"ns"}
        found.append(contexts.of("ns").limits)
    assert found == [container_defaults([one]), container_defaults([two]), NO_DEFAULTS]
    assert found[0] != found[1]
