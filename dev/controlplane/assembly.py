"""Puts one control plane together: its folder, keys, ports and processes, nothing of it started yet."""

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dev.controlplane import audit, flags, kubeconfigs
from dev.controlplane.host.ports import Ports
from dev.controlplane.host.processes import Process
from dev.controlplane.pki import Authority, token_keys
from dev.controlplane.programs.binaries import Binaries
from dev.controlplane.rest import Rest, serves

STAGES = Path(__file__).with_name("stages.yaml")
ADMIN = "control-plane-admin"

APISERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
SCHEDULER = "kube-scheduler"
KWOK = "kwok"
ETCD = "etcd"


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The options of `cluster.start`."""

    controllers: tuple[str, ...]
    scheduler: bool
    kwok: bool
    audit: bool
    extra_apiserver_args: tuple[str, ...]
    extra_controller_manager_args: tuple[str, ...]
    extra_scheduler_args: tuple[str, ...]
    node_address: str | None
    """Where the pods of real nodes reach the API server; None: nodes are simulated."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """A control plane ready to be started; `processes` are in the order of starting."""

    files: flags.Files
    authority: Authority
    url: str
    token: str
    kubeconfig: Path
    rest: Rest
    processes: Mapping[str, Process]


@dataclass(frozen=True, slots=True)
class _Site:
    """What the clients of one API server are put together from."""

    files: flags.Files
    authority: Authority
    url: str
    ports: Ports


def assemble(binaries: Binaries, options: ClusterOptions, folder: Path, ports: Ports) -> Assembly:
    token = secrets.token_urlsafe(32)
    authority, files = _write_files(folder, token, options)
    etcd_port, port = ports.take(), ports.take()
    url = f"https://{flags.HOST}:{port}"
    rest = Rest(flags.HOST, port, files.authority, token)
    processes = {
        ETCD: _process(
            ETCD,
            [str(binaries.etcd), *flags.etcd(folder, etcd_port, ports.take())],
            folder,
            f"http://{flags.HOST}:{etcd_port}/health",
        )
    }
    nodes: Sequence[str] = flags.SIMULATED_NODES
    if options.node_address is not None:
        certificate, key = authority.client("kubelet-client", "kube-apiserver-kubelet-client", ("system:masters",))
        nodes = flags.real_nodes(options.node_address, certificate, key)
    processes[APISERVER] = Process(
        APISERVER,
        [str(binaries.kube_apiserver), *flags.apiserver(files, port, etcd_port, nodes, options.extra_apiserver_args)],
        log=folder / f"{APISERVER}.log",
        environment=environment(folder),
        probe=rest.ready,
    )
    for process in _clients(binaries, options, _Site(files, authority, url, ports)):
        processes[process.name] = process
    kubeconfig = kubeconfigs.with_token(folder / "admin.kubeconfig", url=url, authority=files.authority, token=token)
    return Assembly(files, authority, url, token, kubeconfig, rest, processes)


def environment(folder: Path) -> dict[str, str]:
    """Return what every program of the control plane sees: nothing of the user's home, settings or proxies.

    GOGC is handed on: a caller that has memory to spare saves a fifth of the programs' CPU by it.
    """
    return {
        **{name: os.environ[name] for name in ("GOGC",) if name in os.environ},
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "KUBECACHEDIR": str(folder / "kube-cache"),
        "HELM_CACHE_HOME": str(folder / "helm" / "cache"),
        "HELM_CONFIG_HOME": str(folder / "helm" / "config"),
        "HELM_DATA_HOME": str(folder / "helm" / "data"),
        "KWOK_WORKDIR": str(folder / "kwok"),
    }


def _write_files(folder: Path, token: str, options: ClusterOptions) -> tuple[Authority, flags.Files]:
    authority = Authority(folder)
    server_certificate, server_key = authority.server("kube-apiserver")
    token_key, token_public_key = token_keys(folder)
    table = folder / "tokens.csv"
    table.touch(mode=0o600)
    table.write_text(f'{token},{ADMIN},{ADMIN},"system:masters"\n')
    proxy = Authority(folder / "front-proxy")
    proxy_certificate, proxy_key = proxy.client("client", flags.FRONT_PROXY)
    policy = audit.write_policy(folder / "audit-policy.json") if options.audit else None
    files = flags.Files(
        folder=folder,
        authority=authority.certificate,
        server_certificate=server_certificate,
        server_key=server_key,
        token_key=token_key,
        token_public_key=token_public_key,
        token_table=table,
        proxy=flags.FrontProxyFiles(proxy.certificate, proxy_certificate, proxy_key),
        audit_policy=policy,
        audit_log=folder / "audit.log",
    )
    return authority, files


def _clients(binaries: Binaries, options: ClusterOptions, site: _Site) -> list[Process]:
    """Return the requested client processes of the API server."""
    files, folder = site.files, site.files.folder
    found = []
    if options.controllers:
        port, config = site.ports.take(), client_kubeconfig(site.authority, site.url, "system:kube-controller-manager")
        arguments = flags.controller_manager(
            files, config, port, options.controllers, options.extra_controller_manager_args
        )
        command = [str(binaries.kube_controller_manager), *arguments]
        found.append(_process(CONTROLLER_MANAGER, command, folder, f"https://{flags.HOST}:{port}/healthz"))
    if options.scheduler:
        port, config = site.ports.take(), client_kubeconfig(site.authority, site.url, "system:kube-scheduler")
        settings = folder / "scheduler.json"
        settings.write_text(json.dumps(flags.scheduler_config(config)))
        command = [str(binaries.kube_scheduler), *flags.scheduler(files, settings, port, options.extra_scheduler_args)]
        found.append(_process(SCHEDULER, command, folder, f"https://{flags.HOST}:{port}/healthz"))
    if options.kwok:
        port, config = site.ports.take(), client_kubeconfig(site.authority, site.url, "kwok", ("system:masters",))
        command = [str(binaries.kwok), *flags.kwok(config, STAGES, port, options.controllers)]
        found.append(_process(KWOK, command, folder, f"http://{flags.HOST}:{port}/healthz"))
    return found


def client_kubeconfig(authority: Authority, url: str, user: str, groups: Sequence[str] = ()) -> Path:
    """Return a kubeconfig by which the API server knows `user` as a member of `groups`."""
    file_name = f"client-{secrets.token_hex(4)}"
    certificate, key = authority.client(file_name, user, groups)
    return kubeconfigs.with_certificate(
        authority.folder / f"{file_name}.kubeconfig",
        url=url,
        authority=authority.certificate,
        certificate=certificate,
        key=key,
    )


def _process(name: str, command: Sequence[str], folder: Path, health: str) -> Process:
    return Process(
        name,
        command,
        log=folder / f"{name}.log",
        environment=environment(folder),
        probe=lambda: serves(health),
    )
