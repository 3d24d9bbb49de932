"""The secret part of the path by which the API server calls the webhook: generated, rotated, checked. Pure.

The webhook configurations contain it, and only those with the right to read them know it; any other path gets a 404. It
is replaced whenever a new certificate is served. The new path is written into the configurations after every replica
had time to read it; the previous one is accepted until the API server had time to read the configurations.
"""

import hmac
import secrets
from datetime import datetime
from typing import Final

from shared.api.json.patches import Operation, add
from shared.api.json.reading import read_time, write_time
from shared.tls.rotation import Contents
from webhook.tls.configurations import WebhookEntry, route_of_entry

PATH: Final = "path"
OLD_PATH: Final = "path-old"
CERTIFICATE_TIME: Final = "certificate-time"
"""The start of validity of the certificate that the path was generated with."""
LENGTH: Final = 64


def next_path_contents(contents: Contents, certificate: datetime, *, published: bool) -> dict[str, bytes]:
    """Return what the Secret should contain; equal to `contents` when nothing is due.

    `certificate`: the start of validity of the served certificate. `published`: the configurations have named the path
    for long enough, so that the previous one is no longer called.
    """
    after = dict(contents)
    if not _is_token(after.get(PATH, b"")):
        return {PATH: _new_token(), CERTIFICATE_TIME: write_time(certificate).encode()}
    if OLD_PATH in after:
        if published:
            del after[OLD_PATH]
        return after
    made = read_time(after.get(CERTIFICATE_TIME, b"").decode("ascii", "replace"))
    if made is None or certificate > made:
        return {PATH: _new_token(), OLD_PATH: after[PATH], CERTIFICATE_TIME: write_time(certificate).encode()}
    return after


def accepted_tokens(contents: Contents) -> tuple[str, ...]:
    """Return the tokens that callers can use, the current one first."""
    return tuple(contents[name].decode() for name in (PATH, OLD_PATH) if _is_token(contents.get(name, b"")))


def route_of_path(path: str, tokens: tuple[str, ...]) -> str | None:
    """Return the route of a called path, such as /validate/jobs; None if its token is not accepted."""
    token, slash, route = path[1:].partition("/")
    found = [hmac.compare_digest(token.encode("utf-8", "replace"), each.encode()) for each in tokens]
    return f"/{route}" if path.startswith("/") and slash and any(found) else None


def called_path(token: str, route: str) -> str:
    """Return the path that reaches the route."""
    return f"/{token}{route}"


def path_operations(
    plural: str, at: int, entry: WebhookEntry, tokens: tuple[str, ...], *, switch: bool
) -> list[Operation]:
    """The patch that makes the entry call the current path, unless it calls the previous one and `switch` is not due
    yet.
    """
    route, called = route_of_entry(plural, entry), entry.client_config
    current = called_path(tokens[0], route)
    fine = {current} if switch else {called_path(token, route) for token in tokens}
    if called.path in fine:
        return []
    where = ("webhooks", at, "clientConfig")
    if called.service is not None:
        return [add((*where, "service", "path"), current)]
    base = called.url[: len(called.url) - len(called.path)] if called.path else called.url
    return [add((*where, "url"), base + current)]


def _is_token(value: bytes) -> bool:
    return len(value) == LENGTH and value.isalnum()


def _new_token() -> bytes:
    return secrets.token_hex(LENGTH // 2).encode()
