"""A read-only registry on this machine, in place of the one that a reader pushes to, and of the public one."""

import hashlib
import http.server
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
GZIP = b"\x1f\x8b"
HOSTS = """server = "{url}"
[host."{url}"]
  capabilities = ["pull", "resolve"]
"""


@dataclass(slots=True)
class Registry:
    """What it holds: blobs by digest, and the digests of manifests by name and tag without the host."""

    url: str
    blobs: dict[str, bytes] = field(default_factory=dict)
    tags: dict[tuple[str, str], str] = field(default_factory=dict)

    def push(self, archive: Path, name: str, top: bytes = b"") -> None:
        """Hold the archive's image as `HOST/PATH:TAG`; any archive that `docker load` reads. `top`: one more layer."""
        with tarfile.open(archive) as tar:
            members = {each.name: each for each in tar}

            def content(path: str) -> bytes:
                file = tar.extractfile(members[path])
                assert file is not None, path
                return file.read()

            parts = json.loads(content("manifest.json"))[0]
            config = json.loads(content(parts["Config"]))
            layers = [self._hold(LAYER, content(each)) for each in parts["Layers"]]
        if top:
            layers.append(self._hold(LAYER, top))
            config["rootfs"]["diff_ids"].append(layers[-1]["digest"])
        held = self._hold(CONFIG, _json(config))
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": held, "layers": layers}
        host_and_path, _, tag = name.rpartition(":")
        self.tags[host_and_path.partition("/")[2], tag] = str(self._hold(MANIFEST, _json(manifest))["digest"])

    def _hold(self, kind: str, data: bytes) -> dict[str, object]:
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self.blobs[digest] = data
        packed = "+gzip" if kind == LAYER and data.startswith(GZIP) else ""
        return {"mediaType": kind + packed, "digest": digest, "size": len(data)}

    def stands_for(self, host: str, folder: Path) -> None:
        """Let containerd, which reads `folder` at each pull, ask here for the images of `host`."""
        (folder / host).mkdir(parents=True, exist_ok=True)
        (folder / host / "hosts.toml").write_text(HOSTS.format(url=self.url))

    def find(self, path: str) -> tuple[str, bytes] | None:
        """The digest and the bytes that a path of the registry's API names."""
        name, _, rest = path.removeprefix("/v2/").partition("/manifests/")
        digest = self.tags.get((name, rest), rest) if rest else path.rpartition("/blobs/")[2]
        return (digest, self.blobs[digest]) if digest in self.blobs else None


@contextmanager
def serving() -> Iterator[Registry]:
    """An empty registry on a free port of loopback, until the end of the block."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            found = ("", b"{}") if path == "/v2/" else registry.find(path)
            self.send_response(200 if found else 404)
            digest, data = found or ("", b"")
            self.send_header("Content-Type", MANIFEST if "/manifests/" in path else "application/octet-stream")
            self.send_header("Docker-Content-Digest", digest)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

        do_HEAD = do_GET  # noqa: N815  the base class's word

        def log_message(self, format: str, *_: object) -> None:  # noqa: A002  the base class's word
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        registry = Registry(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join()


def layer(path: str, program: str) -> bytes:
    """A layer, not compressed, with one file that all users can execute."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        entry = tarfile.TarInfo(path)
        entry.size, entry.mode = len(program.encode()), 0o755
        tar.addfile(entry, io.BytesIO(program.encode()))
    return buffer.getvalue()


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
