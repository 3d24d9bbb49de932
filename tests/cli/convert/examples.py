"""`python -m tests.cli.convert.examples FOLDER…`: what `quotree convert` makes of each example file of another project.

A FOLDER is a checkout of the project, or its folder of examples. Each file is converted by itself, and its result
judged as `convert` judges it: by the rules of `check`, and in a simulation with the nodes of the file or, without any,
with nodes enough. Workloads without queues of their own are converted with the file of `--beside`. Prints one line for
each file that is not plain, and a table with a column for each folder. Exit code 1 if `convert` fails on a file.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path

from click.testing import CliRunner, Result

from cli.commands.offline.convert import command
from shared.problems import Problem


class Outcome(StrEnum):
    """What became of one file."""

    STARTS = "converted, each workload starts"
    NO_WORKLOAD = "converted, no workload in the file"
    WAITS = "converted, and the output says what would not start"
    ILLEGAL = "converted, and refused by `check` with the reason"
    NOTHING = "nothing to convert"
    REFUSED = "refused: it cannot be read"
    FAULT = "a fault of `convert`"


LOOKED_AT = (Outcome.WAITS, Outcome.ILLEGAL, Outcome.REFUSED, Outcome.FAULT)
"""Outcomes of which each file is listed."""


def example_files(folder: Path) -> Sequence[Path]:
    """Return every YAML file below the folder, in order; no templates of Helm charts."""
    found = sorted(each for each in folder.rglob("*") if each.suffix in (".yaml", ".yml") and each.is_file())
    return [each for each in found if not _is_template(each)]


def _is_template(file: Path) -> bool:
    return any(each.name == "templates" and (each.parent / "Chart.yaml").exists() for each in file.parents)


def converted(file: Path, beside: Path | None) -> tuple[Outcome, str]:
    """Convert one file, with the other one if it has workloads but no queues; return what the output says of it."""
    alone = _converted(file)
    if beside is None or alone[0] not in (Outcome.NO_WORKLOAD, Outcome.NOTHING):
        return alone
    together = _converted(beside, file)
    return alone if together[0] in (Outcome.REFUSED, Outcome.NO_WORKLOAD) else together


def _converted(*files: Path) -> tuple[Outcome, str]:
    done = CliRunner().invoke(command, [*map(str, files)], standalone_mode=False)
    if isinstance(done.exception, Problem):
        message = str(done.exception)
        return Outcome.NOTHING if "nothing to convert" in message else Outcome.REFUSED, message
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return Outcome.FAULT, repr(done.exception)
    return _judged(done)


def _judged(done: Result) -> tuple[Outcome, str]:
    judged = [line.removeprefix("result: ") for line in done.stderr.splitlines() if line.startswith("result: ")]
    summary = judged[-1]
    if done.exit_code == 1:
        return Outcome.ILLEGAL, judged[0]
    if "workloads start" not in summary:
        return Outcome.NO_WORKLOAD, summary
    starting, _, number = summary.partition("; ")[2].partition(" workloads")[0].partition(" of ")
    waits = next((line for line in judged[:-1] if not line.startswith("warning: ")), summary)
    return (Outcome.STARTS, summary) if starting == number else (Outcome.WAITS, waits)


def table(counts: Sequence[tuple[str, Counter[Outcome]]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown: a row for each outcome, a column for each folder."""
    yield f"| | {' | '.join(name for name, _ in counts)} |"
    yield f"|---|{'---|' * len(counts)}"
    for outcome in Outcome:
        yield f"| {outcome} | {' | '.join(str(count[outcome]) for _, count in counts)} |"
    yield f"| files | {' | '.join(str(count.total()) for _, count in counts)} |"


def main() -> int:
    """Convert the files below the folders."""
    parser = argparse.ArgumentParser(prog="python -m tests.cli.convert.examples", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--beside", type=Path, metavar="FILE", help="queues for workloads whose file has none")
    options = parser.parse_args()
    counts: list[tuple[str, Counter[Outcome]]] = []
    for folder in options.folders:
        count = Counter[Outcome]()
        for file in example_files(folder):
            outcome, message = converted(file, options.beside)
            count[outcome] += 1
            if outcome in LOOKED_AT:
                print(f"{file.relative_to(folder)}: {outcome}: {message.splitlines()[0]}", flush=True)
        counts.append((folder.name, count))
    print("\n".join(table(counts)))
    return 1 if any(count[Outcome.FAULT] for _, count in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
