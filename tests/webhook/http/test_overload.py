"""Reviews for which too many others wait are refused at once, in words that a client understands as: try again."""

import asyncio
import json

from shared.api.review import Review
from tests.webhook.http.test_handler import PATH, body, endpoints
from tests.webhook.http.test_server import JSON, running
from webhook.http.review_queue import ReviewQueue
from webhook.verdicts import YES, Verdict


async def test_of_reviews_that_arrive_together_no_more_wait_than_the_bound_allows() -> None:
    queue = ReviewQueue(limit=3)
    assert await asyncio.gather(*(queue.turn() for _ in range(30))) == [True] * 3 + [False] * 27
    assert await queue.turn()


async def test_review_that_gives_up_leaves_its_place() -> None:
    queue = ReviewQueue(limit=1)
    waiting = asyncio.create_task(queue.turn())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert await queue.turn()


async def test_reviews_that_are_being_judged_do_not_count() -> None:
    judged, go_on = asyncio.Semaphore(0), asyncio.Event()

    async def judge(_review: Review) -> Verdict:
        judged.release()
        await go_on.wait()
        return YES

    async with running(judge, max_waiting=1) as it, it.client() as client:
        asked = []
        for _ in range(3):
            asked.append(asyncio.create_task(client.post(it.url, data=body(), headers=JSON)))
            await judged.acquire()
        go_on.set()
        answers = [await (await each).json() for each in asked]
    assert [each["response"]["allowed"] for each in answers] == [True, True, True]


async def test_refusal_says_when_to_try_again_and_is_counted() -> None:
    shell, registry = endpoints()
    found = json.loads(shell.refuse_waiting(PATH, body()).body)["response"]
    assert (found["uid"], found["allowed"], found["status"]) == (
        "u-1",
        False,
        {
            "code": 429,
            "reason": "TooManyRequests",
            "message": "Job 'train': cannot be judged now: too many reviews wait in this replica of the webhook; try "
            "again in a second (TooManyReviews)",
            "details": {"retryAfterSeconds": 1},
        },
    )
    counted = {"route": PATH, "rule": "TooManyReviews"}
    assert registry.get_sample_value("quotree_webhook_refusals_total", counted) == 1.0


async def test_request_that_is_no_review_gets_400() -> None:
    shell, _ = endpoints()
    assert shell.refuse_waiting(PATH, b"{}").status == 400
