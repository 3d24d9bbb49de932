"""`python -m dev.controlplane build` gets the programs; `up` runs a control plane until Ctrl-C.

`oldest` gets those of the oldest Kubernetes that Quotree supports and prints their folder, for KUBEBUILDER_ASSETS.
"""

import argparse
import contextlib
import signal
import sys
import threading

from dev.controlplane import cluster
from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.programs import binaries


def main() -> int:
    arguments = _parser().parse_args()
    try:
        if arguments.command == "oldest":
            print(binaries.oldest(lambda line: print(line, file=sys.stderr, flush=True)))
            return 0
        programs = binaries.ensure(_say, node=getattr(arguments, "node", False))
        if arguments.command == "up":
            _up(programs, arguments.nodes)
    except ControlPlaneError as error:
        print(f"control plane: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("control plane: interrupted", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dev.controlplane", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="get the programs: the user's own, the cache's, or built")
    build.add_argument("--node", action="store_true", help="kubelet and kube-proxy too")
    commands.add_parser("oldest", help="get those of the oldest Kubernetes supported; print their folder")
    up = commands.add_parser("up", help="run one until Ctrl-C")
    up.add_argument("--nodes", type=int, default=3, metavar="N", help="simulated nodes (default 3)")
    return parser


def _up(programs: binaries.Binaries, nodes: int) -> None:
    end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end.set())
    specs = [cluster.NodeSpec(f"node-{index}") for index in range(nodes)]
    with cluster.start(programs, nodes=specs) as control_plane:
        _say(f"control plane: serving at {control_plane.url}, logs in {control_plane.workdir}; Ctrl-C ends it")
        _say(f"export KUBECONFIG={control_plane.kubeconfig}")
        _say(f"{programs.kubectl} get nodes")
        end.wait()
        _say("control plane: ending")


def _say(line: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
