"""Run `quotree convert` on text, and read what it prints."""

from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner

from cli.commands.offline import check, convert
from shared.quota.model.read.groups import read_group_manifest
from shared.quota.model.tree import Group


class Converted:
    """The result of a conversion: `notes` without the file's folder, and `judged`: what is said of the result."""

    def __init__(self, folder: Path, manifests: str, *flags: str) -> None:
        self._file = folder / "manifests.yaml"
        self._file.write_text(manifests)
        answer = CliRunner().invoke(convert.command, [str(self._file), *flags])
        self.exit_code = answer.exit_code
        self.problem = answer.exception
        self.text = answer.stdout
        self.documents: list[dict[str, Any]] = list(yaml.load_all(answer.stdout, Loader=yaml.CSafeLoader))
        lines = answer.stderr.splitlines()
        self.notes = [line.removeprefix(f"{folder}/") for line in lines if not line.startswith("result: ")]
        self.judged = [line.removeprefix("result: ") for line in lines if line.startswith("result: ")]

    def spec(self, name: str) -> dict[str, Any]:
        """The spec of a QuotaGroup."""
        return next(each["spec"] for each in self.of_kind("QuotaGroup") if each["metadata"]["name"] == name)

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """All objects of a kind."""
        return [each for each in self.documents if each["kind"] == kind]

    def groups(self) -> list[Group]:
        """The groups as the engine reads them."""
        return [read_group_manifest(each) for each in self.of_kind("QuotaGroup")]

    def check(self, folder: Path) -> tuple[int, str]:
        """What `quotree check` says of the result."""
        file = folder / "converted.yaml"
        file.write_text(self.text)
        answer = CliRunner().invoke(check.command, [str(file)])
        return answer.exit_code, answer.output
