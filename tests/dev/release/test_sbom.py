"""The list of what is in an image is read from the image."""

from pathlib import Path

from dev.image import archive
from dev.release import contents, sbom
from dev.release.contents import Package

STATUS = "Package: libssl3t64\nStatus: install ok installed\nArchitecture: amd64\nVersion: 3.5.4-1~deb13u1+b1\n"
METADATA = "Metadata-Version: 2.4\nName: PyYAML\nVersion: 6.0.3\nLicense: MIT\n\nYAML for people.\n"


def test_packages_of_every_layer_are_found(tmp_path: Path) -> None:
    assert contents.packages(_image(tmp_path)) == [
        Package("deb", "libssl3t64", "3.5.4-1~deb13u1+b1", "amd64"),
        Package("pypi", "PyYAML", "6.0.3", license="MIT"),
    ]


def test_the_list_names_each_package_by_its_url(tmp_path: Path) -> None:
    listed = sbom.document("quotree:1", "1", "00", "2026-01-01T00:00:00Z", contents.packages(_image(tmp_path)))

    assert [each["purl"] for each in listed["components"]] == [
        "pkg:deb/debian/libssl3t64@3.5.4-1~deb13u1%2Bb1?arch=amd64",
        "pkg:pypi/pyyaml@6.0.3",
    ]
    assert listed["components"][1]["licenses"] == [{"license": {"name": "MIT"}}]
    assert listed == sbom.document("quotree:1", "1", "00", "2026-01-01T00:00:00Z", contents.packages(_image(tmp_path)))


def _image(folder: Path) -> Path:
    files = {
        "base/var/lib/dpkg/status.d/libssl3t64": STATUS,
        "app/venv/lib/python3.13/site-packages/pyyaml-6.0.3.dist-info/METADATA": METADATA,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    layers = [archive.layer(folder / name, 0) for name in ("base", "app")]
    archive.write(archive.Image("docker.io/library/q:1", "amd64", layers, {}, "2026-01-01T00:00:00Z"), folder / "i.tar")
    return folder / "i.tar"
