"""What is kept of an object: what can count for quota, and nothing that can be secret."""

from shared.recording.lines import recorded_body
from shared.recording.recorder import ClusterObject, ObjectRecorder
from tests.builders import after


def test_commands_and_environment_are_not_kept() -> None:
    container = {
        "name": "main",
        "image": "train:1",
        "resources": {"requests": {"cpu": "1"}},
        "env": [{"name": "TOKEN", "value": "secret"}],
        "args": ["secret"],
    }
    pod = {"spec": {"containers": [container], "initContainers": [container], "nodeSelector": {"a": "b"}}}
    body = {
        "metadata": {
            "name": "train",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "secret", "kept": "1"},
            "managedFields": ["secret"],
        },
        "spec": {"suspend": True, "replicatedJobs": [{"template": {"spec": {"template": pod}}}], "template": pod},
    }
    kept = recorded_body("batch/v1", "Job", body)
    left = {"name": "main", "image": "train:1", "resources": {"requests": {"cpu": "1"}}}
    expected = {"spec": {"containers": [left], "initContainers": [left], "nodeSelector": {"a": "b"}}}
    assert kept == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "annotations": {"kept": "1"}},
        "spec": {
            "suspend": True,
            "replicatedJobs": [{"template": {"spec": {"template": expected}}}],
            "template": expected,
        },
    }


def test_an_object_that_says_the_same_is_not_written_again() -> None:
    recorder = ObjectRecorder()
    node = {"metadata": {"name": "n"}, "status": {"conditions": [{"type": "Ready", "lastHeartbeatTime": "1"}]}}
    beats = {"metadata": {"name": "n"}, "status": {"conditions": [{"type": "Ready", "lastHeartbeatTime": "2"}]}}
    assert recorder.look(after(0), [ClusterObject("v1", "Node", node)]).count(b"\n") == 2
    assert recorder.look(after(1), [ClusterObject("v1", "Node", beats)]) == b""
    assert recorder.look(after(2), []) == b'{"time":"%s","deleted":"Node/n"}\n' % _text(2)


def _text(seconds: float) -> bytes:
    return after(seconds).isoformat().replace("+00:00", "Z").encode()
