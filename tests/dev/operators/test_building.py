"""An operator whose source is not the pinned one is not built."""

from dataclasses import replace
from pathlib import Path

import pytest

from dev.controlplane.errors import ControlPlaneError
from dev.operators.building import apply_change
from dev.operators.recipe import JOBSET, Change


def test_patch_applies_where_its_text_occurs_once(tmp_path: Path) -> None:
    (tmp_path / "main.go").write_text("port = 8080\n")
    apply_change(Change("main.go", "8080", "8081"), tmp_path)
    assert (tmp_path / "main.go").read_text() == "port = 8081\n"


@pytest.mark.parametrize("text", [pytest.param("", id="absent"), pytest.param("8080 8080", id="twice")])
def test_patch_whose_text_occurs_more_than_once_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "main.go").write_text(text)
    with pytest.raises(ControlPlaneError, match=r"main\.go has \d times, not once: 8080"):
        apply_change(Change("main.go", "8080", "8081"), tmp_path)


def test_builds_from_other_sources_use_another_folder() -> None:
    changed = replace(JOBSET, changes=(Change("main.go", "a", "b"),))
    copied = replace(JOBSET, copies=(("a", "b"),))
    assert len({JOBSET.folder_name, changed.folder_name, copied.folder_name}) == 3
    assert changed.folder_name.startswith("operator-jobset-v0.10.1-")
