"""`python -m dev.flows [FLOW]`: through how many modules and rooms each flow passes; with a name, its hops.

Job review, quota edit and event to start are traced in the real processes beside a real control plane, the other two in
this one.
"""

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import time
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

from dev.controlplane import cluster, quotree
from dev.controlplane.host.processes import Process
from dev.controlplane.programs import binaries
from dev.flows.tracer import is_own, module_of

TREE = """\
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: research}
spec: {isParent: true, quotas: [{min: {cpu: 8}}]}
---
apiVersion: quotree.dev/v1alpha1
kind: QuotaGroup
metadata: {name: vision}
spec: {parent: research, quotas: [{min: {cpu: 4}}]}
---
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: default, labels: {quotree.dev/group: vision}}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox,
  resources: {requests: {cpu: "1"}}}]}}}
"""
FLOWS = ("job-review", "quota-edit", "event-to-start", "simulate", "runtime-of-a-group")


def trace_processes(folder: Path) -> None:
    """Start Quotree, apply a tree and a Job, and wait until each flow has been written down."""
    os.environ["TRACE_FOLDER"] = str(folder)
    original = Process

    def traced(name: str, arguments: list[str], **options: Any) -> Process:
        return original(name, [arguments[0], "-m", "dev.flows.tracer", *arguments[2:]], **options)

    setattr(quotree, "Process", traced)  # noqa: B010 - the processes get a tracer around them
    nodes = (cluster.NodeSpec("node-0", allocatable={"cpu": "100", "memory": "1Ti", "pods": "100"}),)
    programs = binaries.ensure(lambda line: print(line, file=sys.stderr))
    with cluster.start(programs, nodes=nodes) as control_plane, quotree.installed(control_plane):
        apply(control_plane, folder, TREE)
        time.sleep(3)
        (folder / "armed").touch()
        apply(control_plane, folder, JOB)
        deadline = time.monotonic() + 30
        while not all((folder / f"{flow}.json").exists() for flow in FLOWS[:3]):
            if time.monotonic() > deadline:
                raise SystemExit("a flow was not seen within 30 s")
            time.sleep(0.1)


def apply(control_plane: cluster.ControlPlane, folder: Path, text: str) -> None:
    """Apply until the webhook answers; the tree's first object may come before its certificate."""
    path = folder / "manifest.yaml"
    path.write_text(text)
    for _ in range(30):
        with contextlib.suppress(Exception):
            control_plane.kubectl("apply", "-f", str(path))
            return
        time.sleep(1)
    raise SystemExit("the manifests were not accepted within 30 s")


def trace_simulate(folder: Path) -> None:
    """`quotree simulate` of the same manifests, in this process; measuring is a flow of its own."""
    from cli.__main__ import quotree as command

    path, calls = folder / "all.yaml", list[str]()
    path.write_text(TREE + JOB)

    def see(frame: Any, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and is_own(code.co_filename) and not code.co_name.startswith("<"):
            calls.append(f"{module_of(code.co_filename)}:{code.co_qualname}")

    arguments = ["simulate", "-f", str(path), "--capacity", "default:cpu=10", "-o", "json"]
    for is_traced in (False, True):  # the first run imports and fills caches
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            sys.setprofile(see if is_traced else None)
            try:
                command.main(arguments, standalone_mode=False)
            finally:
                sys.setprofile(None)
    (folder / "simulate.json").write_text(json.dumps(calls))
    first = next(index for index, call in enumerate(calls) if call.endswith(":measure"))
    last = next(index for index, call in enumerate(calls) if call.startswith("shared.quota.decide.plan:"))
    (folder / "runtime-of-a-group.json").write_text(json.dumps(calls[first:last]))


def main() -> None:
    """Print the table, or the hops of one flow."""
    parser = argparse.ArgumentParser(prog="python -m dev.flows", description=main.__doc__)
    parser.add_argument("flow", nargs="?", choices=FLOWS, help="print every hop of this flow")
    shown = parser.parse_args().flow
    with tempfile.TemporaryDirectory(prefix="quotree-flows-") as name:
        folder = Path(name)
        trace_processes(folder)
        trace_simulate(folder)
        found = {flow: json.loads((folder / f"{flow}.json").read_text()) for flow in FLOWS}
    if shown is not None:
        for module, calls in groupby(found[shown], key=lambda call: call.partition(":")[0]):
            print(f"{module}.{next(calls).partition(':')[2]}")
        return
    print(f"{'flow':20} {'modules':>7} {'rooms':>6}  most entered")
    for flow, calls in found.items():
        modules = [module for module, _ in groupby(call.partition(":")[0] for call in calls)]
        rooms = {module.rpartition(".")[0] for module in modules}
        [(module, times)] = Counter(modules).most_common(1)
        print(f"{flow:20} {len(set(modules)):7} {len(rooms):6}  {module}, {times} times")


if __name__ == "__main__":
    main()
