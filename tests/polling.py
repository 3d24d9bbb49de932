"""How often a test asks for what it waits for: all tests wait by these pauses, whatever they ask."""


def pause_after(passed: float) -> float:
    """How many seconds to wait before asking again, when it has not been so for so many seconds.

    The longer it takes, the less often: what asks all the time slows what it waits for.
    """
    return min(max(0.05, passed / 10), 0.5)
