"""Answers what is created to be answered, WhatIfs and StartPreviews: one of each at a time, with a copy of its own."""

from datetime import timedelta
from typing import Final

import msgspec

from reconciler.visibility.copies.asking import Control, LongQuestions, TooBusy
from reconciler.visibility.copies.edits import BadEdit, read_edit
from reconciler.visibility.copies.questions import CopyQuestion
from reconciler.visibility.copies.submitted import BadSubmission, read_submitted
from reconciler.visibility.front.requests import BadRequest
from reconciler.visibility.objects.kinds import API_VERSION, START_PREVIEW, WHAT_IF, VisibleKind
from shared.json_data import Json

LIMIT: Final = timedelta(milliseconds=2500)
"""Slightly less than the admission webhook waits for an answer."""


class CreatedQuestions:
    """Answers them independently of explanations, and a tenant's previews independently of edits of the tree."""

    def __init__(self, control: Control) -> None:
        self._edits = LongQuestions(control, limit=LIMIT, most=4)
        self._previews = LongQuestions(control, limit=LIMIT, most=16)

    async def answer(self, kind: VisibleKind, namespace: str, body: bytes) -> Json:
        """Return the object with its status. Raises BadRequest and TooBusy."""
        text = body.decode(errors="replace")
        try:
            if kind is WHAT_IF:
                read_edit(body)
                best = await self._edits.best(CopyQuestion(edit=text))
            else:
                read_submitted(body, namespace)
                best = await self._previews.best(CopyQuestion(namespace=namespace, submitted=text))
        except (BadEdit, BadSubmission) as error:
            raise BadRequest(str(error)) from error
        if best is None:
            raise TooBusy
        metadata = {"namespace": namespace} if kind is START_PREVIEW else {}
        status = msgspec.json.decode(best)
        return {"apiVersion": API_VERSION, "kind": kind.kind, "metadata": metadata, "status": status}
