"""What ten times too many reviews do to the webhook: how long the others wait, and what is refused.

    python -m benchmarks.webhook.overload [--seconds 5] [--waiting 10] [--milliseconds 10] [--groups 2000]

The server of `benchmarks.webhook.reviews`, in a process of its own, in which so many reviews may wait, and each costs
so many milliseconds of CPU more than a small Job's: as the largest objects do, or any where CPU is scarce. Ten times as
many connections, as the API server opens them, each with a review under way all the time; a refused one comes again at
once, which is worse than what clients do. First a server without a bound, then one with it. Measured is how long the
answers and refusals of the second half took, when all connections are open. An answer that is neither ends the
benchmark: nothing is let through.
"""

import argparse
import asyncio
import multiprocessing
import ssl
import time
from multiprocessing.connection import Connection
from typing import Any, Final

import aiohttp
import msgspec
import uvloop

from benchmarks.results.figures import Figure, record
from benchmarks.webhook.reviews import review_body, serve

TIMES: Final = 10
UNBOUNDED: Final = 10_000
PATHS: Final = {"/mutate/jobs": False, "/validate/jobs": True}
"""Route → whether its Job is held already."""


class Asked:
    """How many seconds each review took."""

    def __init__(self) -> None:
        self.answered: list[float] = []
        self.refused: list[float] = []

    def see(self, verdict: Any, seconds: float) -> None:
        """Raises SystemExit for an answer that is neither a verdict nor a refusal with a retry."""
        response = verdict["response"]
        if response["allowed"]:
            self.answered.append(seconds)
        elif response["status"]["code"] == 429 and response["status"]["details"]["retryAfterSeconds"]:
            self.refused.append(seconds)
        else:
            raise SystemExit(f"neither judged nor refused with a retry: {verdict}")


async def ask(port: int, authority: bytes, connections: int, seconds: float) -> Asked:
    """Keep a review under way on each connection for twice that long, and return those of the second half."""
    context = ssl.create_default_context(cadata=authority.decode())
    bodies = [(path, review_body(held=held)) for path, held in PATHS.items()]
    asked, counted = Asked(), time.perf_counter() + seconds
    until = counted + seconds
    headers = {"Content-Type": "application/json"}

    async def connection(session: aiohttp.ClientSession, number: int) -> None:
        path, body = bodies[number % len(bodies)]
        while (began := time.perf_counter()) < until:
            async with session.post(f"https://127.0.0.1:{port}{path}", data=body, headers=headers) as answer:
                verdict = msgspec.json.decode(await answer.read())
            if time.perf_counter() > counted:
                asked.see(verdict, time.perf_counter() - began)

    connector = aiohttp.TCPConnector(ssl=context, limit=connections)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(connection(session, number) for number in range(connections)))
    return asked


def measure(name: str, served: tuple[int, int, float], connections: int, seconds: float) -> None:
    """Print one line, of one server. `served`: groups, how many may wait, seconds that each costs."""
    parent, child = multiprocessing.Pipe()
    groups, waiting, cost = served
    server = multiprocessing.Process(target=serve, args=(groups, child, waiting, cost))
    server.start()
    try:
        asked, cpu = _asked(parent, connections, seconds)
    finally:
        server.join(10)
    answered, refused = sorted(asked.answered) or [0.0], sorted(asked.refused) or [0.0]
    place = f"overload.{name}"
    figures = [
        Figure(f"{place}.answered", len(asked.answered) / seconds, "/s"),
        Figure(f"{place}.refused", len(asked.refused) / seconds, "/s"),
        Figure(f"{place}.cpu", 100 * cpu / (2 * seconds), "% of a core"),
    ]
    for what, took in (("answered", answered), ("refused", refused)):
        figures.append(Figure(f"{place}.{what}.p50", took[len(took) // 2] * 1000, "ms"))
        figures.append(Figure(f"{place}.{what}.p99", took[len(took) * 99 // 100] * 1000, "ms"))
        figures.append(Figure(f"{place}.{what}.longest", took[-1] * 1000, "ms", at_most=BARS.get(name)))
    record(*figures)
    print(
        f"{name:10} {connections} connections:", ", ".join(f"{each.name} {each.text}" for each in figures), flush=True
    )


BARS: Final = {"bounded": 1000.0}
"""Milliseconds: a fifth of what the API server waits for."""


def _asked(parent: Connection, connections: int, seconds: float) -> tuple[Asked, float]:
    port, authority = parent.recv()
    asked = uvloop.run(ask(port, authority, connections, seconds))
    parent.send("stop")
    return asked, parent.recv()


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--waiting", type=int, default=10)
    parser.add_argument("--milliseconds", type=float, default=10)
    parser.add_argument("--groups", type=int, default=2000)
    options = parser.parse_args()
    for name, waiting in (("unbounded", UNBOUNDED), ("bounded", options.waiting)):
        served = options.groups, waiting, options.milliseconds / 1000
        measure(name, served, TIMES * options.waiting, options.seconds)


if __name__ == "__main__":
    main()
