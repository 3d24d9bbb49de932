"""What a node changes on a machine: mounts, links, packet filter, control groups, kernel settings, folders, processes.

Read before and after, and compared: so that taking a node down can be tested against every trace, and a trace that was
there before the node came is never taken for its own.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dev.node.names import FOREIGN, PATH, SOCKET, STATE

_SETTINGS = (
    "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxbytes", "kernel/keys/root_maxkeys",
    "vm/overcommit_memory", "vm/panic_on_oom",
    "net/ipv4/ip_forward", "net/ipv4/conf/all/route_localnet", "net/ipv4/conf/all/forwarding",
    "net/ipv4/conf/default/forwarding", "net/ipv4/conf/eth0/forwarding", "net/ipv4/conf/lo/forwarding",
    "net/ipv6/conf/all/forwarding", "net/ipv6/conf/default/forwarding", "net/ipv4/vs/conntrack",
    "net/netfilter/nf_conntrack_max", "net/netfilter/nf_conntrack_tcp_timeout_established",
    "net/netfilter/nf_conntrack_tcp_timeout_close_wait", "net/netfilter/nf_conntrack_tcp_be_liberal",
)  # fmt: skip
_SYSCTL = Path("/proc/sys")
_CGROUPS = Path("/sys/fs/cgroup")
_CONTAINERS = ("/k8s.io", "/kubepods", "/kubelet", "/default/", "/system.slice/containerd")


@dataclass(frozen=True, slots=True)
class Machine:
    """One reading; every field is sorted text, so that two readings can be compared and kept as JSON."""

    mounts: Sequence[str]
    links: Sequence[str]
    tables: Sequence[str]
    cgroups: Sequence[str]
    settings: dict[str, str]
    folders: Sequence[str]
    processes: Sequence[str]


def read() -> Machine:
    return Machine(
        mounts=sorted(filter(is_of_a_node, _mounts())),
        links=sorted(path.name for path in Path("/sys/class/net").iterdir()),
        tables=sorted(_tables()),
        cgroups=sorted(_cgroups()),
        settings={name: _setting(name) for name in _SETTINGS if (_SYSCTL / name).exists()},
        folders=sorted(str(path) for path in (STATE, *FOREIGN) if path.exists()),
        processes=sorted(f"{pid} {words[0]}" for pid, words in node_processes()),
    )


def difference(before: Machine, after: Machine) -> dict[str, list[str]]:
    """Return what is in `after` and was not, or is another, in `before`; empty when nothing was left behind."""
    found = {}
    for name in ("mounts", "links", "tables", "cgroups", "folders", "processes"):
        if new := sorted(set(getattr(after, name)) - set(getattr(before, name))):
            found[name] = new
    # Some settings come with kernel modules that were loaded meanwhile: they had no value before.
    changed = {name: value for name, value in after.settings.items() if before.settings.get(name, value) != value}
    if changed:
        found["settings"] = [f"{name}={value}, was {before.settings[name]}" for name, value in changed.items()]
    return found


def save(machine: Machine, path: Path) -> None:
    path.write_text(json.dumps(asdict(machine)))


def load(path: Path) -> Machine:
    return Machine(**json.loads(path.read_text()))


def restore_settings(before: Machine) -> None:
    """Kernel settings as they were; `forwarding` first, for `ip_forward` follows from it."""
    for name, value in sorted(before.settings.items()):
        if _setting(name) != value:
            (_SYSCTL / name).write_text(value)


def node_processes() -> Iterator[tuple[int, list[str]]]:
    """Yield the pid and command of every process started with a path below the node's folder, such as shims."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if any(word in (str(SOCKET), f"unix://{SOCKET}") or word.startswith(f"--config={STATE}/") for word in words):
            yield int(folder.name), words


def is_of_a_node(mount: str) -> bool:
    """Return whether a mount is where a node makes them; others come and go with other programs."""
    return any(Path(mount).is_relative_to(folder) for folder in (STATE, Path("/run/netns"), *FOREIGN))


def _mounts() -> Iterator[str]:
    yield from (line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines())


def _tables() -> Iterator[str]:
    """Yield nftables' tables; none without `nft`, which a node cannot do without."""
    environment = {"PATH": PATH, **os.environ}
    if shutil.which("nft", path=environment["PATH"]) is None:
        return
    done = subprocess.run(["nft", "list", "tables"], capture_output=True, text=True, check=False, env=environment)
    yield from (line.removeprefix("table ").strip() for line in done.stdout.splitlines())


def _cgroups() -> Iterator[str]:
    """Yield the control groups of containers and kubelet; others come and go with other programs."""
    for folder, folders, _ in os.walk(_CGROUPS):
        paths = (str(Path(folder) / name) for name in folders)
        yield from (path for path in paths if any(name in path for name in _CONTAINERS))


def _setting(name: str) -> str:
    try:
        return (_SYSCTL / name).read_text().strip()
    except OSError:
        return ""
