"""Dry-run creations of managed Jobs, asked by several threads while a test does something to the webhook."""

import threading
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from tests.e2e_node.site import Site, job

PATH = "/apis/batch/v1/namespaces/default/jobs?dryRun=All"
PAUSE = 0.1
CALLERS = 4
CREATED = 201


@dataclass(frozen=True, slots=True)
class Answer:
    """When it was asked and answered, and what the API server said; the message is empty when it was accepted."""

    asked: float
    answered: float
    message: str


@dataclass(slots=True)
class Stream:
    """Answers so far; ends with the block that it is used in."""

    site: Site
    answers: list[Answer] = field(default_factory=list)
    _end: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    @property
    def refusals(self) -> list[Answer]:
        return [answer for answer in self.answers if answer.message]

    @property
    def accepts(self) -> bool:
        """Whether a question that was asked just now has been accepted."""
        return any(not answer.message for answer in self.answers[-CALLERS:])

    @property
    def outage(self) -> float:
        """Seconds between the first and the last question that was refused; 0 when none or one was."""
        refused = [answer.asked for answer in self.refusals]
        return max(refused) - min(refused) if refused else 0.0

    @property
    def slowest(self) -> float:
        return max(answer.answered - answer.asked for answer in self.answers)

    def summary(self) -> str:
        return (
            f"{len(self.refusals)} of {len(self.answers)} refused, during {self.outage:.1f} s, "
            f"slowest answer {self.slowest:.1f} s"
        )

    def __enter__(self) -> Self:
        for number in range(CALLERS):
            self._threads.append(threading.Thread(target=self._ask, name=f"dry-run stream {number}", daemon=True))
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()

    def _ask(self) -> None:
        body = job("dry-run", "vision")
        with self.site.client() as client:
            while not self._end.is_set():
                asked = time.monotonic()
                status, answer = client.request("POST", PATH, body)
                self.answers.append(Answer(asked, time.monotonic(), "" if status == CREATED else _message(answer)))
                time.sleep(PAUSE)


def _message(answer: Any) -> str:
    return str(answer.get("message", answer)) if isinstance(answer, dict) else str(answer)
