"""Users who submit work and try again until it is taken, through the same bad network."""

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from tests.chaos.running.cluster_setup import Stage
from tests.chaos.running.workloads import Submission

PAUSE = 0.3


@dataclass(slots=True)
class Submitter:
    """Submits one after the other from a thread of its own until stopped."""

    stage: Stage
    work: Iterator[Submission]
    pace: float
    """Seconds between two submissions, on average."""
    taken: list[Submission] = field(default_factory=list)
    answers: Counter[int] = field(default_factory=Counter)
    """By HTTP status; 0: none came."""
    refusals: list[str] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)

    def run(self, random: Random) -> None:
        """The thread's work."""
        is_alone = True
        for submission in self.work:
            while not self._is_taken(submission):
                time.sleep(PAUSE)
                if is_alone and self.stopping.is_set() and not self._exists(submission):
                    return
            self.taken.append(submission)
            is_alone = not submission.goes_on
            if is_alone and self.stopping.wait(random.expovariate(1 / self.pace)):
                return

    def _is_taken(self, submission: Submission) -> bool:
        url = self.stage.proxy.side("submitter").url + submission.path
        headers = {"Authorization": f"Bearer {self.stage.cluster.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(url, json.dumps(submission.body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=12) as answer:
                status = int(answer.status)
        except urllib.error.HTTPError as error:
            status = error.code
            if status == http.HTTPStatus.UNPROCESSABLE_ENTITY:
                self.refusals.append(error.read().decode(errors="replace")[:400])
        except (OSError, http.client.HTTPException):
            status = 0
        self.answers[status] += 1
        return status == 201 or (status == 409 and self._exists(submission))

    def _exists(self, submission: Submission) -> bool:
        """A conflict may be the proxy's own, or say that an answer was lost to work that was taken."""
        try:
            status, _ = self.stage.cluster.rest.request("GET", f"{submission.path}/{submission.name}")
        except OSError:
            return False
        return status == 200
