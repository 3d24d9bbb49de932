"""`make demo`: from nothing to a busy, borrowing, recycling cluster. Ends with 0 only if all of it was seen."""

import argparse
import signal
import sys
from contextlib import suppress

from demo import slice as trace_slice
from demo.story import Story
from demo.terminal import Failed, Terminal
from dev.controlplane import cluster
from dev.controlplane.errors import ControlPlaneError
from dev.controlplane.nodes import NodeSpec
from dev.controlplane.programs import binaries
from dev.controlplane.quotree import Quotree, installed
from dev.openb.manifests import GPU, MODEL_LABEL
from dev.openb.records import NodeRecord


def main(arguments: list[str] | None = None) -> int:
    """Run the story; 0 when every step was observed, 1 when one was not, 2 when the machine lacks something."""
    parser = argparse.ArgumentParser(prog="python -m demo", description="Show Quotree at work on this machine.")
    parser.add_argument("--keep", action="store_true", help="leave the cluster running at the end, until Ctrl-C")
    keep = parser.parse_args(arguments).keep
    terminal = Terminal()
    try:
        terminal.chapter("A real control plane on this machine")
        found = binaries.ensure(progress=terminal.note)
        with cluster.start(found, nodes=[_node(record) for record in trace_slice.nodes()]) as control_plane:
            terminal.observed("etcd, API server, controllers, scheduler and simulated nodes run")
            terminal.chapter("Quotree, installed by its Helm chart")
            with installed(control_plane) as quotree:
                terminal.observed("webhook and reconciler serve, each under its own restricted account")
                Story(control_plane, quotree, terminal).tell()
                terminal.chapter(f"Everything was seen, {terminal.seconds():.0f} s in all")
                if keep:
                    _keep(terminal, control_plane, quotree)
    except Failed as failed:
        terminal.failure(str(failed))
        return 1
    except ControlPlaneError as error:
        terminal.failure(str(error))
        return 2
    terminal.note("Nothing is left behind.")
    return 0


def _node(record: NodeRecord) -> NodeSpec:
    gives = {"cpu": f"{record.cpu_milli}m", "memory": f"{record.memory_mib}Mi", GPU: str(record.gpus)}
    return NodeSpec(record.name, labels={MODEL_LABEL: record.model}, allocatable=gives)


def _keep(terminal: Terminal, control_plane: cluster.ControlPlane, quotree: Quotree) -> None:
    terminal.note("The cluster stays until Ctrl-C. In another terminal:")
    terminal.answer(f"export KUBECONFIG={control_plane.kubeconfig}")
    terminal.answer(f"export PATH={control_plane.binaries.kubectl.parent}:{quotree.commands}:$PATH")
    terminal.answer("kubectl get quotagroups")
    terminal.answer("kubectl quotree tree")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        signal.pause()


if __name__ == "__main__":
    sys.exit(main())
