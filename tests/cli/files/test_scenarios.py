"""The sources' own examples, run by `quotree simulate` and compared as a whole.

Each file in scenarios/seeds says in its head how it is run; the answer stands beside it, as
`quotree simulate -f NAME.yaml <those flags> -o json` prints it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.commands.ahead.simulate import command
from cli.read.manifests import read_manifests
from cli.read.questions import read_question, read_settings
from shared.quota.measure.snapshot import measure
from shared.resources import FlavorResource
from tests.builders import NOW

GPU = FlavorResource("default", "gpu")
SEEDS = Path(__file__).parents[2] / "scenarios" / "seeds"


def _flags(scenario: Path) -> list[str]:
    heads = [line for line in scenario.read_text().splitlines() if line.startswith("# simulate: ")]
    return heads[0].removeprefix("# simulate: ").split()


@pytest.mark.parametrize("name", sorted(path.stem for path in SEEDS.glob("*.yaml")))
def test_seed_scenario_gives_its_complete_output(name: str) -> None:
    scenario = SEEDS / f"{name}.yaml"
    answer = CliRunner().invoke(command, ["-f", str(scenario), *_flags(scenario), "-o", "json"])
    assert (answer.exit_code, json.loads(answer.stdout)) == (0, json.loads(scenario.with_suffix(".json").read_text()))


def test_seed_scenarios_give_their_expected_figures() -> None:
    """Before anything starts: a unit that no whole share covers then stays where it is used."""
    assert {name: _runtimes(name) for name in ("four-groups", "two-levels")} == {
        "four-groups": {"root": 100, "a": 5, "b": 20, "c": 35, "d": 40},
        "two-levels": {"root": 100, "parent-a": 20, "a-1": 10, "a-2": 10, "parent-b": 80, "b-1": 27, "b-2": 53},
    }


def _runtimes(name: str) -> dict[str, int]:
    settings = read_settings(None, _flags(SEEDS / f"{name}.yaml")[1:2])
    world = read_question(read_manifests([str(SEEDS / f"{name}.yaml")]), settings).world_at(NOW)
    numbers = measure(world, NOW).numbers
    return {group: by_key[GPU].runtime for group, by_key in numbers.items() if GPU in by_key}


@pytest.mark.parametrize("name", ["two-levels", "codependent-flavors"])
def test_output_is_the_same_in_every_process(name: str) -> None:
    scenario = SEEDS / f"{name}.yaml"
    command = [sys.executable, "-m", "cli", "simulate", "-f", str(scenario), *_flags(scenario), "-o", "json"]
    answers = [
        subprocess.run(command, capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2", "3")
    ]
    assert answers[0] == answers[1] == answers[2]
