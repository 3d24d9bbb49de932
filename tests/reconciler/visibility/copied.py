"""Real copies of the process that runs the test, and the way to ask them."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from reconciler.report.latest_plan import LatestPlan
from reconciler.visibility.copies.answering import CopiedWorld
from reconciler.visibility.copies.asking import Control
from reconciler.visibility.copies.making import AnswerLines, CopyMaker
from shared.cluster.state.cluster_state import ClusterState
from shared.quota.model.settings import QuotaSettings


@asynccontextmanager
async def copies_that(answer: AnswerLines, most: int = 6) -> AsyncIterator[Control]:
    """Copies of this process answer like that until the end of the block."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    maker, loop = CopyMaker(answer, most), asyncio.get_running_loop()

    def hear() -> None:
        _, files, _, _ = socket.recv_fds(ours, 1, 1)
        for each in files:
            maker.make(socket.socket(fileno=each))

    with ours, theirs:
        theirs.setblocking(False)
        loop.add_reader(ours.fileno(), hear)
        try:
            yield Control(theirs)
        finally:
            loop.remove_reader(ours.fileno())


@asynccontextmanager
async def copied(latest: LatestPlan, state: ClusterState | None = None, most: int = 6) -> AsyncIterator[Control]:
    """Copies with this plan; without one, with the plan that a follower makes of `state`."""
    async with copies_that(CopiedWorld(state or ClusterState(QuotaSettings()), latest).answer, most) as control:
        yield control
