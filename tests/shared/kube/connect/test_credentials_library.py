"""What a process loads to read its kubeconfig: nothing of the client that is generated."""

import subprocess
import sys

CODE = """
import sys
from shared.kube.connect import credentials_library
print(credentials_library.load_kube_config.__module__)
print([each for each in ("client.models", "client.api", "dynamic") if f"kubernetes_asyncio.{each}" in sys.modules])
"""


def test_generated_client_is_not_imported() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["kubernetes_asyncio.config.kube_config", "[]"]
