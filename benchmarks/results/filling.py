"""Pages with figures: a template's text, with a figure at each `{{name}}`, so that no figure is typed by hand."""

import re
from typing import Final

from benchmarks.results.figures import table
from benchmarks.results.results import OK, Results

_PLACE: Final = re.compile(r"\{\{([^{}]+)\}\}")
NOT_MEASURED: Final = "not measured"


def filled(template: str, results: Results) -> str:
    """Return the page: any other name than those of tables is a figure, bold if it misses its bar.

    Raises KeyError for a figure that the results should have: one of a benchmark that has run to its end.
    """
    parts = {"conditions": _conditions(results), "runs": _runs(results), "figures": table(results.figures)}
    figures = {each.name: f"**{each.text}**" if each.is_met is False else each.text for each in results.figures}
    complete = {each.name for each in results.outcomes if each.end == OK}

    def text_of(place: re.Match[str]) -> str:
        name = place[1]
        found = parts.get(name) or figures.get(name)
        if found is None and name.partition(".")[0] in complete:
            raise KeyError(f"no figure is named {name}")
        return found or NOT_MEASURED

    return _PLACE.sub(text_of, template)


def _conditions(results: Results) -> str:
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in results.conditions.items())])


def _runs(results: Results) -> str:
    titles = ["| benchmark | options | commit | date | load before | took | |", "|---|---|---|---|---|---|---|"]
    rows = (
        (each.name, each.words, each.commit, each.date, f"{each.load:g}", f"{each.seconds} s", each.end)
        for each in results.outcomes
    )
    return "\n".join([*titles, *(f"| {' | '.join(row)} |" for row in rows)])
