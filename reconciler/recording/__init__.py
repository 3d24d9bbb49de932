"""The leader's recording: the log of what it hears of the cluster, for `quotree replay`.

Nothing of a decision waits for it, and what it cannot keep up with it leaves out and counts. See docs/replay.md.
"""
