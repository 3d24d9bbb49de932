"""Why a workload waits is written at most once an hour, and only if it is another reason than is written."""

from datetime import timedelta

import pytest

from reconciler.write.annotations import write_waiting
from reconciler.write.annotator import is_news
from shared.api.core.metadata import Metadata
from shared.api.names import WAITING
from shared.quota.decide.decisions import WaitExplanation, WaitReason
from tests.builders import NOW, pending

FULL = WaitExplanation(pending("vision", 1), WaitReason.WAITING_FOR_QUOTA, "it is full", "root", "default", "gpu", 1)
HELD = WaitExplanation(pending("vision", 1), WaitReason.HELD, "it is held")


@pytest.mark.parametrize(
    ("now", "passed", "is_written"),
    [
        (FULL, timedelta(minutes=1), False),
        (FULL, timedelta(days=1), False),
        (HELD, timedelta(minutes=59), False),
        (HELD, timedelta(minutes=60), True),
        (HELD, timedelta(minutes=-1), True),
    ],
    ids=["the same", "the same a day later", "another within the hour", "another after it", "written in the future"],
)
def test_reason_is_written_if_it_is_another_than_an_hour_ago(
    now: WaitExplanation, passed: timedelta, is_written: bool
) -> None:
    seen = Metadata(annotations={WAITING: write_waiting(FULL, NOW)})
    assert is_news(now, seen, NOW + passed) == is_written


@pytest.mark.parametrize("text", [None, "{", '{"reason": 1}'])
def test_reason_is_written_where_none_can_be_read(text: str | None) -> None:
    assert is_news(FULL, Metadata(annotations={} if text is None else {WAITING: text}), NOW)
