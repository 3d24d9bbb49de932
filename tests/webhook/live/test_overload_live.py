"""More reviews than a replica may keep waiting: some are refused at once with a retry, and nothing is let through."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from shared.kube.client import Client
from shared.kube.connect.connection import ConnectionSettings, connected
from shared.kube.errors import ApiError, TooManyRequests
from shared.kube.resources import JOBS
from tests.webhook.webhook_process import AdmissionSetup, job_body, wait_for

AT_ONCE = 30
MOST = 3
"""A tenth."""


@pytest.fixture(scope="module")
def small(bare_admission: AdmissionSetup) -> AdmissionSetup:
    """One replica in which three reviews may wait."""
    bare_admission.group("any", quotas=[{"min": {"cpu": 1}}])
    bare_admission.open(listen={"maxWaiting": MOST})
    wait_for(lambda: bare_admission.try_job(job_body("first", "any"))[0] == 201, "it knows the group")
    return bare_admission


@pytest.fixture
async def client(small: AdmissionSetup) -> AsyncIterator[Client]:
    async with connected(ConnectionSettings(kubeconfig=str(small.control_plane.kubeconfig))) as connection:
        yield Client(connection, concurrency=AT_ONCE, timeout=timedelta(minutes=1))


async def create(client: Client, name: str) -> ApiError | None:
    """Create a Job; what was said instead."""
    try:
        await client.create(JOBS, job_body(name, "any"), "default")
    except ApiError as error:
        return error
    return None


async def burst(small: AdmissionSetup, client: Client, number: int) -> dict[str, ApiError | None]:
    """Jobs whose reviews arrive while the webhook is frozen, so that it finds all of them at once."""
    names = [f"burst-{number}-{each}" for each in range(AT_ONCE)]
    pid = small.replicas[0].process.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        asked = [asyncio.create_task(create(client, name)) for name in names]
        await asyncio.sleep(0.7)
    finally:
        os.kill(pid, signal.SIGCONT)
    return dict(zip(names, await asyncio.gather(*asked), strict=True))


async def test_of_ten_times_too_many_reviews_the_rest_is_refused_with_a_retry_and_none_let_through(
    small: AdmissionSetup, client: Client
) -> None:
    answers: dict[str, ApiError | None] = {}
    refused: dict[str, TooManyRequests] = {}
    async with asyncio.timeout(300):
        while not refused:
            answers |= await burst(small, client, len(answers))
            refused = {name: each for name, each in answers.items() if isinstance(each, TooManyRequests)}
    assert {each.retry_after for each in refused.values()} == {timedelta(seconds=1)}
    assert [each for each in refused.values() if "(TooManyReviews)" not in str(each)] == []
    held = {each["metadata"]["name"]: each["spec"]["suspend"] for each in small.control_plane.get("jobs")["items"]}
    assert set(held.values()) == {True}
    assert {name for name, each in answers.items() if each is None} <= held.keys()
    assert held.keys().isdisjoint(refused)
    for name in refused:
        assert await create(client, name) is None, "it may come again"
