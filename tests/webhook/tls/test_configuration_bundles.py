"""The CA is written into the webhook configurations."""

from webhook.tls.configuration_bundles import bundle_operations
from webhook.tls.configurations import entry_operations, read_configuration


def test_bundle_is_written_to_entries_without_it_and_tests_their_names() -> None:
    configuration = read_configuration(
        {
            "webhooks": [
                {"name": "a", "clientConfig": {"caBundle": "YmFk"}},
                {"name": "b", "clientConfig": {"caBundle": "Z29vZA=="}},
                {"name": "c", "clientConfig": {"url": "https://x"}},
            ]
        }
    )
    assert entry_operations(
        "validatingwebhookconfigurations", configuration, lambda _, at, entry: bundle_operations(at, entry, b"good")
    ) == [
        {"op": "test", "path": "/webhooks/0/name", "value": "a"},
        {"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "Z29vZA=="},
        {"op": "test", "path": "/webhooks/2/name", "value": "c"},
        {"op": "add", "path": "/webhooks/2/clientConfig/caBundle", "value": "Z29vZA=="},
    ]
