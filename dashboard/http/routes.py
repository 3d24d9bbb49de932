"""The routes: data is computed in threads, so that the stream is not delayed."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from dashboard.http import static_files
from dashboard.http.guard import RequestGuard
from dashboard.http.stream import FrameSource, stream
from dashboard.live.recorded_reasons import last_recorded
from dashboard.live.served_reasons import served_division, served_explanation
from dashboard.view.pages.accounts import accounts
from dashboard.view.pages.ahead import ahead
from dashboard.view.pages.edits import Edits
from dashboard.view.pages.group import UnknownName, group_page
from dashboard.view.pages.nodes import flavor_list, node_slice
from dashboard.view.pages.overview import overview
from dashboard.view.pages.week import week
from dashboard.view.pages.what_if import what_if
from dashboard.view.pages.workload import Told, workload_page
from dashboard.view.queue import MOST, Order, Part, slice_of
from dashboard.view.tree import TreeLines
from shared.kube.client import Client
from shared.problems import Problem
from shared.resources import FlavorResource

T = TypeVar("T")
_LONGEST_BODY = 4096


class Routes:
    """The handlers of all paths."""

    def __init__(self, client: Client, frames: FrameSource, guard: RequestGuard) -> None:
        self._client = client
        self._frames = frames
        self._guard = guard
        self._tree = TreeLines()
        self._files = static_files.read_files()
        start = self._files[static_files.START]
        self._start = static_files.behind_proxy(start) if guard.is_behind_proxy else start
        self._quick = ThreadPoolExecutor(2, thread_name_prefix="pages")
        self._slow = ThreadPoolExecutor(1, thread_name_prefix="questions")
        """Remedies, forecasts and what-if: one at a time, and no list waits for them."""

    def application(self) -> web.Application:
        """Return the application, with every request checked by the guard."""
        app = web.Application(middlewares=[self._guard.check, _problems], client_max_size=_LONGEST_BODY)
        app.router.add_get("/", self._start_page)
        app.router.add_get("/static/{name:.+}", self._static)
        app.router.add_get("/api/stream", self._stream)
        app.router.add_get("/api/overview", self._overview)
        app.router.add_get("/api/group", self._group)
        app.router.add_get("/api/ahead", self._ahead)
        app.router.add_get("/api/queue", self._queue)
        app.router.add_get("/api/workload", self._workload)
        app.router.add_get("/api/nodes", self._nodes)
        app.router.add_get("/api/week", self._week)
        app.router.add_get("/api/accounts", self._accounts)
        app.router.add_post("/api/what-if", self._what_if)
        app.on_cleanup.append(self._close)
        return app

    async def _start_page(self, _: web.Request) -> web.Response:
        return static_files.answer(self._start)

    async def _static(self, request: web.Request) -> web.Response:
        file = self._files.get(request.match_info["name"])
        if file is None:
            raise web.HTTPNotFound(text="no such file\n")
        return static_files.answer(file)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        return await stream(request, self._frames, self._tree, self._guard)

    async def _group(self, request: web.Request) -> web.Response:
        name, key = request.query.get("name", ""), _key(request)
        frame = self._frames.latest
        division = await served_division(self._client, name) if frame.outlook is None else ()
        return await _in(self._quick, partial(group_page, frame, name, key, self._frames.history, division))

    async def _ahead(self, request: web.Request) -> web.Response:
        name, key = request.query.get("name", ""), _key(request)
        return await _in(self._slow, partial(ahead, self._frames.latest, name, key))

    async def _overview(self, request: web.Request) -> web.Response:
        return await _in(self._quick, partial(overview, self._frames.latest, _key(request), self._frames.history))

    async def _queue(self, request: web.Request) -> web.Response:
        query = request.query
        try:
            part = Part(query.get("part", Part.PENDING))
        except ValueError as error:
            raise Problem(f"part must be one of {', '.join(Part)}") from error
        first, count = _number(request, "first", 0), _number(request, "count", 50)
        order = Order(query.get("sort", ""), down=query.get("down") == "1")
        work = partial(slice_of, self._frames.latest, query.get("group", ""), part, first, count)
        return await _in(self._quick, partial(work, text=query.get("text", ""), order=order))

    async def _workload(self, request: web.Request) -> web.Response:
        frame, query = self._frames.latest, request.query
        kind, key, with_remedies = query.get("kind", "Job"), query.get("key", ""), query.get("remedies") == "1"
        told = await self._told(kind, key) if frame.outlook is None and frame.find(kind, key) is not None else None
        work = partial(workload_page, frame, kind, key, with_remedies=with_remedies, told=told)
        return await _in(self._slow if with_remedies else self._quick, work)

    async def _told(self, kind: str, key: str) -> Told:
        """Return what the visibility API says about a workload, else its last event."""
        data = await served_explanation(self._client, kind, key)
        if data is not None:
            return Told("the visibility API", data)
        return Told("its last event", sentence=await last_recorded(self._client, kind, key))

    async def _nodes(self, request: web.Request) -> web.Response:
        frame = self._frames.latest
        first, count = _number(request, "first", 0), min(_number(request, "count", 50), MOST)
        nodes = partial(node_slice, frame, first, count, request.query.get("text", ""))
        if request.query.get("flavors") == "1":
            return await _in(self._quick, lambda: {**nodes(), "flavors": flavor_list(frame)})
        return await _in(self._quick, nodes)

    async def _week(self, request: web.Request) -> web.Response:
        return await _in(self._quick, partial(week, self._frames.latest, _key(request)))

    async def _accounts(self, request: web.Request) -> web.Response:
        month = request.query.get("month")
        return await _in(self._quick, partial(accounts, self._frames.latest, _key(request), month))

    async def _what_if(self, request: web.Request) -> web.Response:
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType(text="send JSON\n")
        try:
            edits = msgspec.json.decode(await request.read(), type=Edits)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Problem(f"the edit cannot be read: {error}") from error
        return await _in(self._slow, partial(what_if, self._frames.latest, edits))

    async def _close(self, _: web.Application) -> None:
        for each in (self._quick, self._slow):
            each.shutdown(wait=False, cancel_futures=True)


@web.middleware
async def _problems(request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
    """Answer a problem with its message."""
    try:
        answer: web.StreamResponse = await handler(request)
    except UnknownName as problem:
        return _json({"problem": str(problem)}, 404)
    except Problem as problem:
        return _json({"problem": str(problem)}, 400)
    return answer


async def _compute(threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(threads, work)


async def _in(threads: ThreadPoolExecutor, work: Callable[[], Any]) -> web.Response:
    return _json(await _compute(threads, work))


def _json(data: Any, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(data), status=status, content_type="application/json")


def _key(request: web.Request) -> FlavorResource:
    """Return the flavor and resource of the query; a resource has a slash itself, a flavor none."""
    flavor, _, resource = request.query.get("key", "").partition("/")
    return FlavorResource(flavor, resource)


def _number(request: web.Request, name: str, default: int) -> int:
    text = request.query.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Problem(f"{name} must be a number from 0 on")
    return int(text)
