"""What is taken for rest in a closed world's life."""

from tests.prove.__main__ import search_one


def test_rests_of_turns_with_a_grace_period_between_them_are_rest() -> None:
    """Beside workloads that run endlessly, two groups have their turn in turn, and nothing else ever changes."""
    assert search_one(32, 171) == (171, [])
