"""What is known of namespaces."""

from shared.api.core.namespace import read_namespace
from shared.quota.model.namespace_context import NamespaceContexts


def test_namespace_is_known_from_when_it_is_seen_until_it_is_gone() -> None:
    contexts, namespace = NamespaceContexts(), read_namespace({"metadata": {"name": "ns"}})
    assert not contexts.knows("ns")
    contexts.observe_namespaces([(None, namespace)])
    assert contexts.knows("ns")
    contexts.observe_namespaces([(namespace, None)])
    assert not contexts.knows("ns")
