"""Imports of kubernetes_asyncio its reading of kubeconfigs alone, without the modules of its generated client.

Those are a thousand, one for each kind of object, and take half a second of CPU. The packages are registered without
running their `__init__`, which would import all of them; their modules are imported as usual.
"""

import importlib.util
import sys
from typing import TYPE_CHECKING

__all__ = ["ConfigException", "Configuration", "load_incluster_config", "load_kube_config"]

_CLIENT = "kubernetes_asyncio.client"


def _register(name: str) -> None:
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise ImportError(f"no package {name}: install what the distribution quotree requires")
    sys.modules[name] = importlib.util.module_from_spec(spec)


if not TYPE_CHECKING and "kubernetes_asyncio" not in sys.modules:
    _register("kubernetes_asyncio")
    _register(_CLIENT)

from kubernetes_asyncio.client.configuration import Configuration  # noqa: E402

if not TYPE_CHECKING:
    # Its modules name these two; the second one only as the result of functions that are not called here.
    vars(sys.modules[_CLIENT]).setdefault("Configuration", Configuration)
    vars(sys.modules[_CLIENT]).setdefault("ApiClient", object)

from kubernetes_asyncio.config import ConfigException, load_incluster_config, load_kube_config  # noqa: E402
