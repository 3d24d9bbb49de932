"""Copies the descriptors of shared/kinds/presets into the chart, and their names into its schema: `python -m
dev.generate.presets`.

The chart renders webhook rules, rights and the admission policy from them, and reads no file outside its folder.
"""

import json
from pathlib import Path
from typing import Any, Final

from shared.kinds.descriptor import PRESETS
from shared.kinds.presets import preset_text

CHART: Final = Path(__file__).parents[2] / "charts" / "quotree"
_HEAD: Final = "# Copied from shared/kinds/presets by `python -m dev.generate.presets`: change it there.\n"


def chart_files() -> dict[Path, str]:
    """Return the files and their text."""
    copies = {CHART / "presets" / f"{name}.yaml": _HEAD + preset_text(name) for name in PRESETS}
    schema = CHART / "values.schema.json"
    return {**copies, schema: _with_names(schema.read_text())}


def _with_names(schema: str) -> str:
    found: dict[str, Any] = json.loads(schema)
    found["properties"]["integrations"]["items"]["enum"] = list(PRESETS)
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write them, and nothing else stays."""
    files = chart_files()
    (CHART / "presets").mkdir(exist_ok=True)
    for path in (CHART / "presets").glob("*.yaml"):
        if path not in files:
            path.unlink()
    for path, text in files.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
