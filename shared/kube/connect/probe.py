"""Check once that there is an API server and that it accepts the credentials, for one clear message if not."""

import errno
import os
import socket
from datetime import timedelta
from typing import Any

import aiohttp
import msgspec

from shared.kube.connect.access import Access
from shared.kube.errors import ConnectionProblem

_PROBE_TIMEOUT = timedelta(seconds=10)


async def probe(session: aiohttp.ClientSession, base_url: str, origin: str, access: Access) -> None:
    """Request /version. Raises ConnectionProblem."""
    where = f"{base_url} ({origin})"
    timeout = aiohttp.ClientTimeout(total=_PROBE_TIMEOUT.total_seconds())
    try:
        async with session.get(
            f"{base_url}/version", headers=access.headers, timeout=timeout, **access.options
        ) as answer:
            status, body = answer.status, await answer.read()
    except aiohttp.ClientConnectorCertificateError as error:
        reason = getattr(error.certificate_error, "verify_message", "") or "verification failed"
        raise ConnectionProblem(f"the certificate of the API server at {where} is not trusted: {reason}") from error
    except aiohttp.ClientConnectorError as error:
        reason = _reason(error.os_error)
        raise ConnectionProblem(f"no API server answers at {where}: {reason}; is it running?") from error
    except TimeoutError as error:
        seconds = _PROBE_TIMEOUT.total_seconds()
        raise ConnectionProblem(f"the API server at {where} did not answer within {seconds:.0f} s") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise ConnectionProblem(f"what answers at {where} is no API server: {type(error).__name__}") from error
    if problem := _judge_version(status, body):
        raise ConnectionProblem(f"the API server at {where} {problem}")


def _reason(error: OSError) -> str:
    """The reason in words; event loops put different texts into an OSError, and name look-up has numbers of its own."""
    if error.errno is not None and error.errno in errno.errorcode and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno)
    return error.strerror or str(error)


def _judge_version(status: int, body: bytes) -> str | None:
    if status == 401:
        return "refused the credentials (401): log in again, or check the user of that context"
    if status >= 500 or status == 429:
        return f"is not ready (it answered {status}): try again when it is"
    if status == 403:
        return None
    try:
        version = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        version = {}
    return None if status == 200 and "gitVersion" in version else f"answered {status} to /version: is it an API server?"
