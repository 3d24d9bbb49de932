"""Nothing but the page itself is answered, and the page can load nothing from elsewhere."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from dashboard.http.static_files import read_files
from tests.builders import world
from tests.dashboard.site import Site, frame_of, served

STATIC = Path(__file__).parents[2] / "dashboard" / "static"
FILES = [file for file in STATIC.rglob("*") if file.is_file()]


@pytest_asyncio.fixture
async def site() -> AsyncIterator[Site]:
    """A small tree."""
    async with served(frame_of(world("root 8\n  a 4"))) as running:
        yield running


async def _status(site: Site, path: str, headers: Mapping[str, str]) -> int:
    async with site.session.get(f"{site.origin}{path}", headers=headers) as answer:
        return answer.status


@pytest.mark.parametrize("path", ["group?name=a", "queue?group=a", "workload?key=x", "nodes", "stream"])
async def test_data_requires_the_token(site: Site, path: str) -> None:
    assert await _status(site, f"/api/{path}", {}) == 401
    assert await _status(site, f"/api/{path}", {"Authorization": "Bearer guess"}) == 401


async def test_token_of_bytes_that_are_no_text_is_refused(site: Site) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", site.guard.port)
    host = f"127.0.0.1:{site.guard.port}".encode()
    writer.write(b"GET /api/nodes HTTP/1.1\r\nHost: " + host + b"\r\nAuthorization: Bearer \xff\xfe\r\n\r\n")
    assert (await reader.readline()).split()[1] == b"401"
    writer.close()


async def test_files_served_without_the_token_do_not_contain_it(site: Site) -> None:
    async with site.session.get(site.origin) as answer:
        assert site.guard.token not in await answer.text() + str(answer.headers)
        assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "attacker.example"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Origin": "http://attacker.example"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({}, 200),
    ],
)
async def test_another_site_is_refused_even_with_the_token(site: Site, headers: dict[str, str], status: int) -> None:
    assert await _status(site, "/api/group?name=a", {**site.headers, **headers}) == status


async def test_no_response_allows_another_origin(site: Site) -> None:
    for path in ("/", "/api/group?name=a", "/api/group?name=none", "/nothing", "/static/app.js"):
        async with site.session.get(f"{site.origin}{path}", headers=site.headers) as answer:
            assert not [name for name in answer.headers if name.startswith("Access-Control-")]
            policy = answer.headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
            assert "unsafe" not in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_only_what_if_requests_are_accepted_by_post(site: Site) -> None:
    url = f"{site.origin}/api/what-if"
    edit = {"edits": [{"group": "a", "flavor": "default", "resource": "gpu", "min": "5"}]}
    async with site.session.post(url, json=edit, headers=site.headers) as answer:
        assert answer.status == 200
    async with site.session.post(url, data=b"{}", headers={**site.headers, "Content-Type": "text/plain"}) as answer:
        assert answer.status == 415
    async with site.session.post(
        url, data=b"x" * 5000, headers=site.headers | {"Content-Type": "application/json"}
    ) as answer:
        assert answer.status == 413
    for method in ("PUT", "PATCH", "DELETE", "POST"):
        async with site.session.request(method, f"{site.origin}/api/group", headers=site.headers) as answer:
            assert answer.status == 405


@pytest.mark.parametrize("query", ["first=-1", "first=x", "count=1e9", "first=٣", "part=all"])
async def test_invalid_query_is_refused_with_the_reason(site: Site, query: str) -> None:
    async with site.session.get(f"{site.origin}/api/queue?group=a&{query}", headers=site.headers) as answer:
        assert answer.status == 400
        assert (await answer.json())["problem"].startswith(("first", "count", "part"))


async def test_no_file_outside_the_page_can_be_read(site: Site) -> None:
    for path in ("/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/command.py", "/static/"):
        assert await _status(site, path, {}) == 404


async def test_stream_starts_with_every_group_and_continues_with_changes(site: Site) -> None:
    async with site.session.get(f"{site.origin}/api/stream", headers=site.headers) as answer:
        assert answer.headers["Content-Type"] == "text/event-stream"
        first = await answer.content.readuntil(b"\n\n")
        assert b'"name":"root"' in first
        assert b'"name":"a"' in first
        site.frames.show(frame_of(world("root 8\n  a 5"), 2))
        second = await answer.content.readuntil(b"\n\n")
        assert b'"name":"a"' in second
        assert b'"frame":2' in second


def test_page_builds_text_nodes_only_and_loads_nothing_from_other_origins() -> None:
    for file in FILES:
        text = file.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text), (
            file
        )
        assert not re.search(r"https?:|//[\w-]+\.[a-z]{2,}", text), file
    page = (STATIC / "index.html").read_text()
    assert not re.search(r"<style|style=|<script(?![^>]* src=)|\son\w+=", page)


def test_every_file_is_package_data() -> None:
    assert {file.relative_to(STATIC).as_posix() for file in FILES} == set(read_files())


async def test_address_for_a_browser_works_once(site: Site) -> None:
    code = {"Authorization": f"Bearer {site.guard.address_to_open.partition('#open=')[2]}"}
    async with site.session.post(f"{site.origin}/api/token", headers=code) as answer:
        assert await answer.json() == {"token": site.guard.token}
    async with site.session.post(f"{site.origin}/api/token", headers=code) as answer:
        assert answer.status == 401
        assert "works once" in await answer.text()
    assert await _status(site, "/api/group?name=a", code) == 401
    async with site.session.post(f"{site.origin}/api/token", headers={**code, "Origin": "http://x.example"}) as answer:
        assert answer.status == 403
