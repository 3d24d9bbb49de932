"""How the API server is found and what is said when it is not: always one sentence, never a secret."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest
import trustme
from aiohttp import web

from dev.controlplane.cluster import ControlPlane
from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.errors import ConnectionProblem, Unauthorized, Unavailable
from shared.kube.resources import NAMESPACES
from tests.shared.kube.servers import serving, write_kubeconfig

SECRET = "s3cr3t-token"


async def problem_with(path: Path | str | None, context: str | None = None) -> str:
    settings = ConnectionSettings(kubeconfig=None if path is None else str(path), context=context)
    with pytest.raises(ConnectionProblem) as caught:
        async with connected(settings):
            pass
    text = str(caught.value)
    assert SECRET not in text
    assert "\n" not in text
    return text


def edited(folder: Path, *replacements: tuple[str, str]) -> Path:
    path = write_kubeconfig(folder, "https://127.0.0.1:1", f"token: {SECRET}")
    text = path.read_text()
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return path


async def test_missing_kubeconfig_is_reported(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    assert await problem_with(missing) == (
        f"kubeconfig {missing} does not exist: give --kubeconfig, or set KUBECONFIG to a file"
    )


async def test_missing_configuration_outside_a_cluster_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    expected = f"kubeconfig {tmp_path}/.kube/config does not exist: give --kubeconfig, or set KUBECONFIG to a file"
    assert await problem_with(None) == expected


async def test_unknown_context_lists_the_known_ones(tmp_path: Path) -> None:
    path = edited(tmp_path)
    assert await problem_with(path, "prod") == f"kubeconfig {path} has no context 'prod'; it has: only"


async def test_missing_current_context_is_reported(tmp_path: Path) -> None:
    path = edited(tmp_path, ("current-context: only\n", ""))
    assert await problem_with(path) == (
        f"kubeconfig {path} has no current-context: give --context, or run kubectl config use"
    )


async def test_context_with_missing_cluster_or_user_is_reported(tmp_path: Path) -> None:
    path = edited(tmp_path, ("clusters: [{name: c,", "clusters: [{name: other,"))
    assert await problem_with(path) == f"kubeconfig {path} has no cluster 'c'; it has: other"
    path = edited(tmp_path, ("users: [{name: u,", "users: [{name: other,"))
    assert await problem_with(path) == f"kubeconfig {path} has no user 'u'; it has: other"


async def test_address_without_a_scheme_is_reported(tmp_path: Path) -> None:
    path = edited(tmp_path, ("https://127.0.0.1:1", "127.0.0.1:1"))
    expected = f"kubeconfig {path}, context 'only': the cluster's server is '127.0.0.1:1', not an https:// address"
    assert await problem_with(path) == expected


async def test_missing_file_is_reported(tmp_path: Path) -> None:
    path = edited(tmp_path, (f"token: {SECRET}", "client-certificate: gone.crt"))
    expected = f"kubeconfig {path}: client-certificate names {tmp_path}/gone.crt, which does not exist"
    assert await problem_with(path) == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"a: [{SECRET}\nb: ", "is not valid YAML (line 2)"),
        ("", "is empty or not a mapping"),
        ("- a", "is empty or not a mapping"),
        ("\x00", "is not valid YAML"),
    ],
)
async def test_invalid_kubeconfig_is_reported(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(content)
    assert await problem_with(path) == f"kubeconfig {path} {message}"


async def test_invalid_certificate_data_is_reported(tmp_path: Path) -> None:
    path = edited(tmp_path, ("cluster: {", "cluster: {certificate-authority-data: AAAA, "))
    message = await problem_with(path)
    assert message.startswith(f"kubeconfig {path}, context 'only': the certificates cannot be loaded: ")


async def test_token_with_a_line_break_is_reported(tmp_path: Path) -> None:
    path = edited(tmp_path, (f"token: {SECRET}", f'token: "{SECRET}\\nX-Evil: 1"'))
    expected = f"kubeconfig {path}, context 'only': the token holds line breaks or control characters"
    assert await problem_with(path) == expected


async def test_error_of_a_credential_plugin_is_quoted(tmp_path: Path) -> None:
    plugin = (
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: [-c, 'echo log in first >&2; exit 3']}"
    )
    path = edited(tmp_path, (f"token: {SECRET}", plugin))
    assert await problem_with(path) == (
        f"kubeconfig {path}, context 'only' gives no usable credentials: exec: process returned 3. log in first"
    )


async def test_unreachable_server_is_reported(tmp_path: Path) -> None:
    path = edited(tmp_path)
    assert await problem_with(path) == (
        f"no API server answers at https://127.0.0.1:1 (kubeconfig {path}, context 'only'): "
        "Connection refused; is it running?"
    )


async def test_server_that_is_no_api_server_is_reported(tmp_path: Path) -> None:
    app = web.Application()
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    path = write_kubeconfig(tmp_path, address)
    expected = f"the API server at {address} (kubeconfig {path}, context 'only') answered 404 to /version: is it an API"
    assert await problem_with(path) == f"{expected} server?"
    await runner.cleanup()


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_busy_or_unready_server_is_reported(tmp_path: Path, status: int) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=status)

    app = web.Application()
    app.router.add_get("/version", refuse)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    path = write_kubeconfig(tmp_path, address)
    assert await problem_with(path) == (
        f"the API server at {address} (kubeconfig {path}, context 'only') is not ready (it answered {status}): "
        "try again when it is"
    )
    await runner.cleanup()


async def test_certificate_of_another_ca_is_reported(tmp_path: Path) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(tls)
    runner = web.AppRunner(web.Application())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    address = f"https://127.0.0.1:{runner.addresses[0][1]}"
    path = write_kubeconfig(tmp_path, address, f"token: {SECRET}")
    assert await problem_with(path) == (
        f"the certificate of the API server at {address} (kubeconfig {path}, context 'only') is not trusted: "
        "unable to get local issuer certificate"
    )
    await runner.cleanup()


async def test_refused_credentials_are_reported(control_plane: ControlPlane, tmp_path: Path) -> None:
    text = control_plane.kubeconfig.read_text().replace(control_plane.token, SECRET)
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    message = await problem_with(path)
    assert message.startswith(f"the API server at {control_plane.url} (kubeconfig {path}, context '")
    assert message.endswith("refused the credentials (401): log in again, or check the user of that context")


async def test_several_kubeconfigs_are_merged_and_the_first_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=404)

    async with serving(refuse) as server:
        for folder in ("a", "b"):
            (tmp_path / folder).mkdir()
        first = write_kubeconfig(tmp_path / "a", server)
        second = write_kubeconfig(tmp_path / "b", "https://127.0.0.1:1")
        text = second.read_text().replace("current-context: only", "current-context: other")
        second.write_text(text.replace("{name: only,", "{name: other,"))
        monkeypatch.setenv("KUBECONFIG", f"{first}:{tmp_path}/absent:{second}")
        async with connected(ConnectionSettings()) as connection:
            assert connection.base_url == server
            assert connection.origin == f"kubeconfig {first}:{second}, context 'only'"
        where = f"kubeconfig {first}:{tmp_path}/absent:{second}"
        assert await problem_with(None, "nope") == f"{where} has no context 'nope'; it has: only, other"


def serving_tokens(accepted: set[str], seen: list[str]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        token = request.headers["Authorization"].removeprefix("Bearer ")
        seen.append(token)
        if token not in accepted:
            return web.json_response({"kind": "Status", "reason": "Unauthorized", "message": "no"}, status=401)
        return web.json_response({"metadata": {"name": "x"}})

    return handle


async def test_refused_token_is_read_again_once_for_all_requests(tmp_path: Path) -> None:
    seen: list[str] = []
    accepted = {"old"}
    (tmp_path / "token").write_text("old")
    async with serving(serving_tokens(accepted, seen)) as server:
        path = write_kubeconfig(tmp_path, server, "tokenFile: token")
        async with connected(ConnectionSettings(kubeconfig=str(path))) as connection:
            client = Client(connection)
            await client.get(NAMESPACES, "x")
            (tmp_path / "token").write_text("new\n")
            accepted.clear()
            accepted.add("new")
            await asyncio.gather(*(client.get(NAMESPACES, "x") for _ in range(5)))
            assert seen == ["old"] * 6 + ["new"] * 5
            accepted.clear()
            with pytest.raises(Unauthorized):
                await client.get(NAMESPACES, "x")
            path.unlink()
            with pytest.raises(Unavailable, match=r"gives no usable credentials"):
                await client.get(NAMESPACES, "x")


async def test_mounted_token_is_read_again_every_minute(
    control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, port = control_plane.url.removeprefix("https://").split(":")
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    (tmp_path / "token").write_text(f"{control_plane.token}\n")
    (tmp_path / "ca.crt").symlink_to(control_plane.ca_file)
    async with connected(ConnectionSettings(service_account=str(tmp_path))) as connection:
        assert connection.base_url == control_plane.url
        first = await connection.access()
        (tmp_path / "token").write_text("rotated")
        assert await connection.access() is first
        monkeypatch.setattr("shared.kube.connect.connection._TOKEN_LIFE", timedelta())
        second = await connection.access()
        assert second.headers == {"Authorization": "Bearer rotated"}
        assert second.options is first.options
        (tmp_path / "token").unlink()
        assert await connection.access() is second
