"""What goes into the image is decided once: the Dockerfile and the builder without an engine read the same."""

import re
from pathlib import Path

import pytest

from dev.image import check, chroot, dockerfile, facts
from dev.image.steps import slim


def test_dockerfile_copies_the_same_files_as_the_chroot() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile.DOCKERFILE.read_text(), re.MULTILINE)

    assert sorted(name for line in copied for name in line.split()) == sorted(chroot.SOURCES)


def test_container_starts_with_the_entrypoint_of_the_dockerfile() -> None:
    settings = dockerfile.settings(dockerfile.DOCKERFILE.read_text())

    assert settings["User"] == "65532:65532"
    assert settings["Cmd"] == ["quotree-reconciler", "--help"]
    assert settings["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert settings["Env"][0].startswith("PATH=/venv/bin:")


@pytest.mark.parametrize(
    ("tag", "full"),
    [
        ("quotree:1", "docker.io/library/quotree:1"),
        ("team/quotree:1", "docker.io/team/quotree:1"),
        ("registry.example.com/quotree:1", "registry.example.com/quotree:1"),
        ("localhost:5000/quotree:1", "localhost:5000/quotree:1"),
    ],
)
def test_container_runtime_finds_the_image_by_its_full_name(tag: str, full: str) -> None:
    assert facts.full_name(tag) == full


def test_imports_inside_functions_are_checked(tmp_path: Path) -> None:
    for package in check.PACKAGES:
        (tmp_path / package).mkdir()
    (tmp_path / "cli/late.py").write_text(
        "import os\n\ndef call():\n    from rich.table import Table\n    return Table\n"
    )

    script = check.script(tmp_path)

    assert "import cli.late" in script
    assert "from rich.table import Table" in script


def test_slimming_keeps_used_files_and_reports_missing_ones(tmp_path: Path) -> None:
    for name in (*slim.GENERATED, *slim.UNUSED, slim.LEXERS, "aiohttp/tests", "cel"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "tzdata/zoneinfo/Europe").mkdir(parents=True)
    zone = f"tzdata/zoneinfo/{check.ZONE}"  # `accounts.timeZone` can name it
    for name in (zone, "pygments/lexers/python.py", "pygments/lexers/rust.py", "aiohttp/web.py", "aiohttp/_x.pyx"):
        (tmp_path / name).touch()

    slim.packages(tmp_path)

    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert left == [
        "aiohttp/web.py",
        "cel/__init__.py",
        "pygments/lexers/python.py",
        zone,
    ]
    with pytest.raises(FileNotFoundError, match=r"kubernetes_asyncio/client/models is not in"):
        slim.packages(tmp_path)
