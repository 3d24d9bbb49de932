"""Pages with figures: a template's text, with a figure at each `{{name}}`, so that no figure is typed by hand."""

import re
from typing import Final

from benchmarks.results.figures import table
from benchmarks.results.results import Results

_PLACE: Final = re.compile(r"\{\{([^{}]+)\}\}")
NOT_MEASURED: Final = "not measured"


def filled(template: str, results: Results, by_hand: Results) -> str:
    """Return the page: any other name than those of tables is a figure, bold if it misses its bar.

    `by_hand`: what was measured apart; of this the table of all figures says nothing.
    """
    parts = {
        "conditions": _conditions(results),
        "runs": _runs(results),
        "figures": table(results.figures),
        "conditions by hand": _conditions(by_hand),
        "runs by hand": _runs(by_hand),
    }
    every = (*results.figures, *by_hand.figures)
    figures = {each.name: f"**{each.text}**" if each.is_met is False else each.text for each in every}
    return _PLACE.sub(lambda place: parts.get(place[1]) or figures.get(place[1]) or NOT_MEASURED, template)


def _conditions(results: Results) -> str:
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in results.conditions.items())])


def _runs(results: Results) -> str:
    titles = ["| benchmark | options | commit | date | load before | took | |", "|---|---|---|---|---|---|---|"]
    rows = (
        (each.name, each.words, each.commit, each.date, f"{each.load:g}", f"{each.seconds} s", each.end)
        for each in results.outcomes
    )
    return "\n".join([*titles, *(f"| {' | '.join(row)} |" for row in rows)])
