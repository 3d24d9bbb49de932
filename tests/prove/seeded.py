"""Runs a check of random worlds on all cores, as a program of its own."""

import argparse
import multiprocessing
from collections.abc import Callable, Sequence

Check = Callable[[int], tuple[int, Sequence[str]]]
"""The seed of a world → how many things were checked in it, and what is wrong with them."""


def checked(program: str, description: str | None, check: Check, things: str) -> int:
    """Check as many worlds as the command line says, print each flaw, and return the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first world")
    parser.add_argument("--workers", type=int, default=multiprocessing.cpu_count())
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.worlds)
    tried = flaws = 0
    with multiprocessing.get_context("fork").Pool(options.workers) as pool:
        for count, found in pool.imap_unordered(check, seeds, chunksize=4):
            tried += count
            flaws += len(found)
            for each in found:
                print(each, flush=True)
    print(f"{options.worlds} worlds, {tried} {things}, {flaws} wrong")
    return 1 if flaws else 0
