"""Who is answered by the dashboard in the cluster: users whom a proxy has authenticated, by the token that it adds.

The process asks the API server whose the token is, so that the proxy itself need not be trusted: who reaches the port
without a token gets the page's own files and no data. A user sees all or nothing: the page shows the workloads of all
namespaces, so it is for those who may list them all.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from dashboard.http.guard import Handler, is_api, with_headers
from shared.kinds.kind import Kinds
from shared.process.metrics_access import Permission, ReaderPermissions


def _list(group: str, resource: str) -> dict[str, Any]:
    return {"resourceAttributes": {"verb": "list", "group": group, "resource": resource}}


_ALWAYS: Final = (
    _list("quotree.dev", "quotagroups"),
    _list("quotree.dev", "resourceflavors"),
    _list("batch", "jobs"),
    _list("", "pods"),
    _list("", "nodes"),
)
_REFUSALS: Final = {
    Permission.UNKNOWN: "the proxy must pass on the user's token (Authorization: Bearer), and the API server know it",
    Permission.FORBIDDEN: (
        "this page shows the groups, flavors, Jobs, pods and nodes of the whole cluster, and you cannot list all of "
        "them: run `quotree dashboard`, which shows what you may see"
    ),
    Permission.UNDECIDED: "whether you may see this cannot be decided now; try again",
}


def needed(kinds: Kinds) -> Sequence[Mapping[str, Any]]:
    """Return the rights that a user must have: to list everything on the page in all namespaces."""
    return (*_ALWAYS, *(_list(kind.group, kind.resource) for kind in kinds.suspended))


class ProxiedGuard:
    """Allows users whose token has the right to list everything on the page."""

    is_behind_proxy = True

    def __init__(self, readers: ReaderPermissions) -> None:
        self._readers = readers

    @web.middleware
    async def check(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse requests for data from other sites or users without the right; add the headers to every response."""
        return await with_headers(self._answer(request, handler))

    async def still_answers(self, request: web.Request) -> bool:
        """Return whether the token still has the right; the answer is cached for a short time."""
        return await self._permission(request) is Permission.ALLOWED

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        await self._judge(request)
        return await handler(request)

    async def _judge(self, request: web.Request) -> None:
        if not is_api(request):
            return
        # The proxy knows the user by a cookie, which a browser also sends with requests of other sites.
        if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise web.HTTPForbidden(text="requests from another site are refused\n")
        found = await self._permission(request)
        if found is Permission.UNKNOWN:
            raise web.HTTPUnauthorized(text=f"{_REFUSALS[found]}\n", headers={"WWW-Authenticate": "Bearer"})
        if found is Permission.FORBIDDEN:
            raise web.HTTPForbidden(text=f"{_REFUSALS[found]}\n")
        if found is Permission.UNDECIDED:
            raise web.HTTPServiceUnavailable(text=f"{_REFUSALS[found]}\n")

    async def _permission(self, request: web.Request) -> Permission:
        return await self._readers.of(request.headers.get("Authorization", ""))
