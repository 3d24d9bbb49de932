"""Answers WhatIfs: one question at a time, each with a copy of its own."""

from datetime import timedelta
from typing import Final

import msgspec

from reconciler.visibility.copies.asking import Control, LongQuestions, TooBusy
from reconciler.visibility.copies.edits import BadEdit, read_edit
from reconciler.visibility.copies.questions import CopyQuestion
from reconciler.visibility.front.requests import BadRequest
from reconciler.visibility.objects.kinds import API_VERSION, WHAT_IF
from shared.json_data import Json

LIMIT: Final = timedelta(milliseconds=2500)
"""Slightly less than the admission webhook waits for an answer."""


class WhatIfs:
    """Answers WhatIfs independently of explanations."""

    def __init__(self, control: Control) -> None:
        self._long = LongQuestions(control, limit=LIMIT, most=4)

    async def answer(self, body: bytes) -> Json:
        """Return the WhatIf with its status. Raises BadRequest and TooBusy."""
        try:
            read_edit(body)
        except BadEdit as error:
            raise BadRequest(str(error)) from error
        best = await self._long.best(CopyQuestion(edit=body.decode(errors="replace")))
        if best is None:
            raise TooBusy
        return {"apiVersion": API_VERSION, "kind": WHAT_IF.kind, "metadata": {}, "status": msgspec.json.decode(best)}
