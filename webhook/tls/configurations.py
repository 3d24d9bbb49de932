"""The two webhook configurations of this installation: watched, and patched entry by entry."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

from shared.api import names
from shared.api.json.patches import Operation, test
from shared.api.json.reading import View, reader
from shared.kube.client import Client
from shared.kube.errors import Conflict
from shared.kube.resources import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Resource
from shared.kube.watch.cache import Change, transitions
from shared.kube.watch.watches import Watches
from shared.kube.watch.watching import Watch
from shared.telemetry import get_logger

PHASES: Final = {MUTATING_WEBHOOKS.plural: "mutate", VALIDATING_WEBHOOKS.plural: "validate"}

log = get_logger(__name__)


class _Service(View, frozen=True):
    path: str = ""


class ClientConfig(View, frozen=True):
    """How the API server calls an entry: by URL, or by Service and path."""

    ca_bundle: bytes = b""
    url: str = ""
    service: _Service | None = None

    @property
    def path(self) -> str:
        """The path that the entry calls."""
        return self.service.path if self.service is not None else urlsplit(self.url).path


class WebhookEntry(View, frozen=True):
    """One webhook of a configuration."""

    name: str = ""
    client_config: ClientConfig = ClientConfig()


class ConfigurationRecord(View, frozen=True):
    """A webhook configuration."""

    webhooks: list[WebhookEntry] = []


read_configuration = reader(ConfigurationRecord)


def route_of_entry(plural: str, entry: WebhookEntry) -> str:
    """The route that answers the entry: `labelled.jobs.quotree.dev` of the mutating configuration is /mutate/jobs.

    A governed kind has its API group in the name: `labelled.jobsets.jobset.x-k8s.io.quotree.dev`.
    """
    scope, _, route = entry.name.removesuffix(f".{names.GROUP}").partition(".")
    return f"/{PHASES[plural]}/{route or scope}"


WebhookEntryChange = Callable[[str, int, WebhookEntry], list[Operation]]
"""The operations that change one entry, given the configuration's plural and the entry's index; empty: no change."""


class WebhookConfigurations:
    """Both configurations as last seen; `listeners` are called at every change."""

    def __init__(self, client: Client, watches: Watches, name: str) -> None:
        self._client = client
        self._name = name
        self._seen: dict[str, ConfigurationRecord] = {}
        self.listeners: list[Callable[[], None]] = []
        for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
            watches.add(
                Watch(client, resource, read_configuration, self._sink(resource), fields=f"metadata.name={name}")
            )

    def _sink(self, resource: Resource) -> Any:
        def see(changes: Sequence[Change[ConfigurationRecord]]) -> None:
            for _, after in transitions(changes):
                self._seen.pop(resource.plural, None)
                if after is not None:
                    self._seen[resource.plural] = after
            for listener in self.listeners:
                listener()

        return see

    def entries(self) -> Iterator[tuple[str, WebhookEntry]]:
        """Yield every entry, with the plural of its configuration."""
        for plural, configuration in self._seen.items():
            for entry in configuration.webhooks:
                yield plural, entry

    async def change(self, what: str, change: WebhookEntryChange) -> None:
        """Patch entries. If entries have moved, the patch fails and is repeated at the next event. Raises ApiError."""
        for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
            seen = self._seen.get(resource.plural)
            operations = [] if seen is None else entry_operations(resource.plural, seen, change)
            if operations:
                with suppress(Conflict):
                    await self._client.patch_json(resource, self._name, operations)
                    log.info("Webhook configuration written", what=what, configuration=resource.plural)


def entry_operations(plural: str, configuration: ConfigurationRecord, change: WebhookEntryChange) -> list[Operation]:
    """Return the patch that changes these entries; each operation tests the entry's name."""
    operations: list[Operation] = []
    for at, entry in enumerate(configuration.webhooks):
        changed = change(plural, at, entry)
        if changed:
            operations += [test(("webhooks", at, "name"), entry.name), *changed]
    return operations
