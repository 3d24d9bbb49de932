"""What a release hands out beside the image: the same from the same sources, signed, and of use as it is."""

import base64
import hashlib
import json
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

from dev.controlplane.cluster import ControlPlane
from dev.controlplane.programs.binaries import Binaries
from dev.release import __main__ as release
from dev.release import signing, spdx
from dev.release.contents import Package
from dev.release.provenance import Origin

URL = "https://example.com/quotree"
ORIGIN = Origin("0123456789abcdef0123456789abcdef01234567", "https://example.com/ci")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, control_plane_binaries: Binaries) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("release")
    return {path.name: path for path in release.without_image(folder, URL)}


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "release.pem"
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(path)], check=True)
    return path


def test_two_builds_of_the_same_sources_are_the_same_bytes(made: dict[str, Path], tmp_path: Path) -> None:
    again = {path.name: path.read_bytes() for path in release.without_image(tmp_path, URL)}
    assert sorted(again) == [
        "krew.yaml",
        "kubectl-quotree-0.1.0.tar.gz",
        "quotree-0.1.0-kustomize.tar.gz",
        "quotree-0.1.0-py3-none-any.whl",
        "quotree-0.1.0.tgz",
        "quotree.yaml",
    ]
    assert [name for name, content in again.items() if made[name].read_bytes() != content] == []


def test_chart_archive_renders_what_the_folder_renders(made: dict[str, Path], control_plane_binaries: Binaries) -> None:
    command = [str(control_plane_binaries.helm), "template", "quotree", str(made["quotree-0.1.0.tgz"])]
    rendered = subprocess.run(
        [*command, "-n", "quotree-system", "--skip-tests"], capture_output=True, text=True, check=True
    ).stdout
    assert rendered in made["quotree.yaml"].read_text()


def test_static_manifests_are_accepted_by_the_api_server(made: dict[str, Path], control_plane: ControlPlane) -> None:
    objects = [each for each in yaml.load_all(made["quotree.yaml"].read_text(), Loader=yaml.CSafeLoader) if each]
    assert objects[0]["kind"] == "Namespace"
    assert not [each for each in objects if "helm.sh/hook" in each["metadata"].get("annotations", {})]
    for each in objects:
        if "namespace" in each["metadata"]:
            each["metadata"]["namespace"] = "default"
    # With a manager of its own kubectl does not try to migrate what another test has applied without --server-side.
    wishes = ("--force-conflicts", "--field-manager=release", "--dry-run=server")
    command = ("apply", "--server-side", *wishes, "-f", "-")
    done = control_plane.kubectl(*command, input=yaml.dump_all(objects, Dumper=yaml.CSafeDumper), check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_kustomize_base_can_be_named_in_a_kustomization(
    made: dict[str, Path], tmp_path: Path, control_plane_binaries: Binaries
) -> None:
    with tarfile.open(made["quotree-0.1.0-kustomize.tar.gz"]) as tar:
        tar.extractall(tmp_path, filter="data")
    page = (Path(release.__file__).parents[2] / "docs/gitops.md").read_text()
    (text,) = [block for block in page.split("```yaml\n") if "kind: Kustomization" in block.partition("```")[0]]
    (tmp_path / "kustomization.yaml").write_text(text.partition("```")[0])
    done = subprocess.run(
        [str(control_plane_binaries.kubectl), "kustomize", str(tmp_path)], capture_output=True, text=True, check=True
    )
    objects = [each for each in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if each]
    images = [
        each["spec"]["template"]["spec"]["containers"][0]["image"] for each in objects if each["kind"] == "Deployment"
    ]
    assert images == ["registry.example.com/team/quotree:0.1.0"] * 2
    assert len(objects) == len(
        [each for each in yaml.load_all(made["quotree.yaml"].read_text(), Loader=yaml.CSafeLoader) if each]
    )


def test_provenance_names_every_file_with_its_checksum(made: dict[str, Path], tmp_path: Path) -> None:
    sums, statement = release.vouch(tmp_path, list(made.values()), {"url": URL}, ORIGIN, None)
    subjects = {each["name"]: each["digest"]["sha256"] for each in json.loads(statement.read_text())["subject"]}
    assert subjects == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in made.items()}
    assert {line.split()[1]: line.split()[0] for line in sums.read_text().splitlines()} == subjects
    predicate = json.loads(statement.read_text())["predicate"]
    assert predicate["runDetails"] == {"builder": {"id": "https://example.com/ci"}}
    definition = predicate["buildDefinition"]
    assert definition["externalParameters"] == {"url": URL}
    assert definition["resolvedDependencies"][0]["digest"] == {"gitCommit": ORIGIN.commit}


def test_a_given_key_signs_checksums_and_provenance(made: dict[str, Path], tmp_path: Path, key_file: Path) -> None:
    key = signing.load_key(key_file, None)
    sums, statement, signature, public = release.vouch(tmp_path, list(made.values()), {}, ORIGIN, key)

    def verified(content: bytes, text: str) -> bool:
        (tmp_path / "content").write_bytes(content)
        (tmp_path / "signature").write_bytes(base64.b64decode(text))
        command = ["openssl", "dgst", "-sha256", "-verify", str(public), "-signature", str(tmp_path / "signature")]
        return subprocess.run([*command, str(tmp_path / "content")], capture_output=True, check=False).returncode == 0

    assert verified(sums.read_bytes(), signature.read_text())
    assert not verified(sums.read_bytes() + b"x", signature.read_text())
    envelope = json.loads(statement.read_text())
    payload, (signed,) = base64.b64decode(envelope["payload"]), envelope["signatures"]
    assert verified(signing.encoded(payload), signed["sig"])
    assert not verified(payload, signed["sig"])
    assert json.loads(payload)["_type"] == "https://in-toto.io/Statement/v1"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read: No such file or directory"),
        ("-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----", "is encrypted by cosign; make one with `openssl ecparam"),
        ("nothing", "is no private key in PEM"),
    ],
)
def test_a_key_that_cannot_sign_is_refused_with_what_to_give(tmp_path: Path, content: str | None, words: str) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_text(content)
    with pytest.raises(signing.KeyProblem, match=words):
        signing.load_key(path, None)


def test_spdx_document_describes_the_image_and_its_packages() -> None:
    packages = [Package("deb", "libssl3t64", "3.5.4-1~b1", "amd64"), Package("pypi", "PyYAML", "6", license="MIT")]
    document = spdx.document("quotree:1", "1", "00", "2026-01-01T00:00:00Z", packages)
    ids = [each["SPDXID"] for each in document["packages"]]
    assert ids == ["SPDXRef-image", "SPDXRef-deb-libssl3t64-3.5.4-1-b1", "SPDXRef-pypi-PyYAML-6"]
    assert [each["relatedSpdxElement"] for each in document["relationships"]] == ids
    assert document["packages"][2]["externalRefs"][0]["referenceLocator"] == "pkg:pypi/pyyaml@6"
    assert (document["spdxVersion"], document["dataLicense"]) == ("SPDX-2.3", "CC0-1.0")
