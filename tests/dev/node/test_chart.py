"""Into which cluster the chart is installed, and with which image."""

import pytest

from dev.node import __main__ as node
from dev.node import chart
from dev.node.errors import NodeError


@pytest.mark.parametrize(
    ("image", "values"),
    [
        ("quotree:0.1.0", ["image.repository=quotree", "image.tag=0.1.0"]),
        ("localhost:5000/quotree:0.1.0", ["image.repository=localhost:5000/quotree", "image.tag=0.1.0"]),
        ("example.com/team/quotree@sha256:12", ["image.repository=example.com/team/quotree", "image.digest=sha256:12"]),
    ],
)
def test_image_is_selected_by_tag_or_digest(image: str, values: list[str]) -> None:
    assert chart.image_values(image) == values


@pytest.mark.parametrize("image", ["", "quotree", ":0.1.0", "@sha256:12", "localhost:5000/quotree"])
def test_an_image_without_a_tag_is_refused(image: str) -> None:
    with pytest.raises(NodeError, match=f"IMAGE={image} names no image that the cluster can pull"):
        chart.image_values(image)


def test_existing_cluster_must_be_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("USE_KUBECONFIG", "1")
    monkeypatch.delenv("KUBECONFIG", raising=False)
    assert node.main(["up"]) == 1
    assert "USE_KUBECONFIG=1 needs KUBECONFIG" in capsys.readouterr().err
