"""`python -m dev.node up | down | check`: a cluster of one real node on this machine, with Quotree installed."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.programs import binaries
from dev.image import build, facts
from dev.image.errors import ImageError
from dev.node import chart, supervisor
from dev.node.errors import NodeError
from dev.node.machine import requirements
from dev.node.names import KUBECONFIG


def main(arguments: list[str] | None = None) -> int:
    """0 when done, 1 when something went wrong, 2 when this machine lacks something that is named."""
    chosen = _parser().parse_args(arguments)
    try:
        if chosen.command == "hold":
            return supervisor.hold(chosen.image)
        if chosen.command == "down":
            supervisor.down(_say)
        elif chosen.command == "check":
            return _check(apt=chosen.apt)
        elif os.environ.get("USE_KUBECONFIG"):
            _install_into_users_cluster()
        else:
            return _up(apt=chosen.apt)
    except (NodeError, ControlPlaneError, ImageError) as error:
        print(f"node: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dev.node", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        (
            "up",
            "build the image, start the node, install the chart; into the cluster of KUBECONFIG with USE_KUBECONFIG=1",
        ),
        ("check", "say what this machine lacks; code 2 when it lacks something"),
    ):
        command = commands.add_parser(name, help=text)
        command.add_argument("--apt", action="store_true", help="install absent Debian packages by apt-get")
    commands.add_parser("down", help="end the node and remove every trace of it")
    hold = commands.add_parser("hold", help="hold a node until SIGTERM (what `up` starts)")
    hold.add_argument("--image", type=Path, required=True, help="the archive of the image that pods may use")
    return parser


def _check(*, apt: bool) -> int:
    """Install what is missing where `apt` allows it, and return whether a node can be started here."""
    absent = requirements.absent_packages()
    if apt and absent and os.geteuid() == 0:
        _say(f"node: apt-get install {' '.join(absent)}")
        command = ["apt-get", "install", "--yes", "--no-install-recommends", "--quiet", *absent]
        subprocess.run(command, check=False, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    lacks = requirements.missing()
    for lack in lacks:
        print(f"node: this machine lacks something for a real node: {lack}", file=sys.stderr)
    return 2 if lacks else 0


def _up(*, apt: bool) -> int:
    if code := _check(apt=apt):
        return code
    programs = binaries.ensure(_say, node=True)
    archive = build.DIST / f"quotree-{facts.version()}-image.tar"
    build.image(_say, tag=facts.tag(), output=archive)
    supervisor.start(archive, _say)
    _say("node: installing the chart")
    chart.install(programs, str(KUBECONFIG))
    _say("node: Quotree runs. In a terminal of yours:")
    for line in chart.usage(programs, str(KUBECONFIG), Path(sys.executable).parent):
        _say(f"  {line}")
    _say("`make cluster-down` ends it and removes every trace")
    return 0


def _install_into_users_cluster() -> None:
    kubeconfig = os.environ.get("KUBECONFIG")
    if not kubeconfig:
        raise NodeError("USE_KUBECONFIG=1 needs KUBECONFIG: the file of the cluster to install into")
    values = chart.image_values(os.environ.get("IMAGE", ""))
    programs = binaries.clients(_say)
    chart.install(programs, kubeconfig, values)
    _say(f"node: Quotree is installed into the cluster of {kubeconfig}")
    for line in chart.usage(programs, kubeconfig, Path(sys.executable).parent):
        _say(f"  {line}")


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
