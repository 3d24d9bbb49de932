"""The pages with figures are made of the results that are kept; what a whole run does fits into its time."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.results.curves import BOTTOM, COLORS, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Scale, chart, linear, logarithmic
from benchmarks.results.figures import FIGURES, Figure, amount_text, of_rounds, record, recorded, table
from benchmarks.results.filling import filled
from benchmarks.results.pages import TEMPLATES, pages
from benchmarks.results.pictures import pictures
from benchmarks.results.programme import ALL, BY_HAND, WHOLE
from benchmarks.results.results import BY_HAND as BY_HAND_RESULTS
from benchmarks.results.results import Outcome, Results, merged, read_results

RUN = Results(
    {"Kubernetes": "v1.36.3"},
    (
        Outcome("starts", "--jobs 20", "abc", "2026-11-26", 0.4, 30),
        Outcome("replay", "", "abc", "2026-11-26", 1.2, 60, "not done within 1 minutes"),
    ),
    (
        Figure("starts.alone", 11.42, "ms", at_most=13.2, peer_name="Kueue", peer=53.6),
        of_rounds("starts.queue", [298.0, 251.0, 310.0], "/s", at_least=519.0),
    ),
)
NOTHING = Results({}, (), ())
TEXT = "{http://www.w3.org/2000/svg}text"
POLYLINE = "{http://www.w3.org/2000/svg}polyline"


def test_pages_are_made_of_the_results_that_are_kept() -> None:
    written = dict(pages(read_results(), read_results(BY_HAND_RESULTS)))
    assert {"benchmarks.md", "sizing.md", "growth-first.svg"} <= {path.name for path in written}
    for path, text in written.items():
        assert path.read_text() == text, "run python -m benchmarks.results.pages"


def test_pages_name_no_figure_of_a_benchmark_that_is_not_run() -> None:
    places = {line.split("{{")[1] for page in TEMPLATES.glob("*") for line in page.read_text().split("}}")[:-1]}
    parts = {"conditions", "figures", "runs", "conditions by hand", "runs by hand"}
    assert {place.partition(".")[0] for place in places - parts} <= {each.name for each in (*ALL, *BY_HAND)}


def test_each_benchmark_has_time_in_a_whole_run_if_those_before_it_take_half_of_theirs() -> None:
    assert sum((each.limit for each in ALL), timedelta()) <= 2 * WHOLE


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (11.42, "ms", "11.4 ms"),
        (0.442, "ms", "0.442 ms"),
        (4647.6, "/s", "4,648 /s"),
        (298.4, "/s", "298 /s"),
        (40.0, "", "40"),
        (-1.94, "% more", "-1.94 % more"),
        (0.0, "MiB", "0 MiB"),
    ],
)
def test_an_amount_is_shown_with_three_digits(value: float, unit: str, text: str) -> None:
    assert amount_text(value, unit) == text


def test_the_table_has_each_figure_with_its_bar_and_its_peer() -> None:
    assert table(RUN.figures).splitlines()[2:] == [
        "| starts.alone | 11.4 ms | ≤ 13.2 ms, Kueue 53.6 ms    | met        |",
        "| starts.queue | 298 /s  | ≥ 519 /s                    | **missed** |",
    ]


def test_a_page_shows_in_bold_what_misses_its_bar_and_says_what_was_not_measured() -> None:
    template = "{{starts.alone}} alone, {{starts.queue}}, {{replay.cpu}}"
    assert filled(template, RUN, NOTHING) == "11.4 ms alone, **298 /s**, not measured"


def test_a_page_shows_also_what_was_measured_by_hand() -> None:
    by_hand = Results({"Kubernetes": "v1.37.2"}, (), (Figure("day.gpus", 63.0, "GPUs"),))
    shown = filled("{{day.gpus}} on {{conditions by hand}}, {{starts.alone}}", RUN, by_hand)
    assert shown == "63 GPUs on | | |\n|---|---|\n| Kubernetes | v1.37.2 |, 11.4 ms"


def test_a_day_is_drawn_with_a_line_for_each_contender_over_the_minutes_that_it_took() -> None:
    figures = (
        Figure("day.quotree.took", 120.0, "s"),
        Figure("day.quotree.curve.idle", 3.0, "GPUs", rounds=(1.0, 3.0, 5.0)),
        Figure("day.kueue.took", 240.0, "s"),
        Figure("day.kueue.curve.idle", 8.0, "GPUs", rounds=(8.0, 8.0, 8.0)),
    )
    ((name, picture),) = pictures(Results({}, (), figures))
    lines = [each.attrib["points"] for each in ElementTree.fromstring(picture).iter(POLYLINE)]
    ends = [float(points.split()[-1].partition(",")[0]) for points in lines]
    assert name == "day-idle.svg"
    assert sorted(ends) == [LEFT + (WIDTH - LEFT - RIGHT) / 2, WIDTH - RIGHT]


def test_what_is_run_again_replaces_its_figures_alone() -> None:
    again = Outcome("replay", "", "def", "2026-11-27", 0.1, 40)
    after = Results(RUN.conditions, (again,), (Figure("replay.cpu", 11.0, "s"),))
    found = merged(RUN, after)
    assert found.outcomes == (RUN.outcomes[0], again)
    assert [each.name for each in found.figures] == ["starts.alone", "starts.queue", "replay.cpu"]
    assert found.summary == "2 benchmarks in 1 minutes; 1 of 2 bars missed"


def test_figures_of_two_machines_are_not_put_together() -> None:
    with pytest.raises(ValueError, match="run all benchmarks again"):
        merged(RUN, Results({"Kubernetes": "v1.37.0"}, (), ()))


def test_of_figures_of_one_name_the_last_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / "figures"
    record(Figure("dropped", 1.0))
    monkeypatch.setenv(FIGURES, str(left))
    record(Figure("a", 1.0), Figure("b", 2.0))
    record(Figure("a", 3.0))
    assert recorded(left) == [Figure("a", 3.0), Figure("b", 2.0)]


def test_a_line_has_the_color_of_its_place_in_the_order_wherever_it_ends() -> None:
    across, up = linear([1.0], "min"), linear([5.0], "Jobs")
    for ends in ((1.0, 5.0), (5.0, 1.0)):
        lines = {name: [(0.0, 0.0), (1.0, end)] for name, end in zip(("Quotree", "Kueue"), ends, strict=True)}
        picture = ElementTree.fromstring(chart("a day", lines, across, up))
        shown = {each.text: each.attrib["style"] for each in picture.iter(TEXT) if "style" in each.attrib}
        assert shown == {"Quotree": f"fill:{COLORS[0]}", "Kueue": f"fill:{COLORS[1]}"}


@pytest.mark.parametrize("scale", [logarithmic, linear])
def test_every_point_of_a_curve_lies_in_its_picture(scale: Callable[[Sequence[float], str], Scale]) -> None:
    lines = {"a <b>": [(10.0, 0.05), (1000.0, 7.3)], "c": [(10.0, 0.06), (1000.0, 7.2)]}
    across, up = scale([10.0, 1000.0], "groups"), scale([0.05, 7.3], "s")
    picture = ElementTree.fromstring(chart("growth", lines, across, up))
    found = [each.attrib["points"] for each in picture.iter(POLYLINE)]
    places = [tuple(map(float, point.split(","))) for points in found for point in points.split()]
    assert len(places) == 4
    assert all(LEFT <= x <= WIDTH - RIGHT and TOP <= y <= HEIGHT - BOTTOM for x, y in places)
