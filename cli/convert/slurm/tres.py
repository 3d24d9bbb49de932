"""Slurm's trackable resources (TRES) as resources and quantities of Kubernetes."""

import re
from typing import Final

RESOURCES: Final = {"cpu": "cpu", "mem": "memory", "gres/gpu": "nvidia.com/gpu"}
"""Name of a TRES → resource. Others have no counterpart by themselves."""
_MEGABYTES: Final = re.compile(r"[0-9]+")
_SUFFIXED: Final = re.compile(r"([0-9.]+)([KMGTP])")


def tres_quantity(resource: str, amount: str) -> str:
    """Return the amount as Kubernetes writes it. Slurm's memory is in MiB, or has a suffix of powers of 1024."""
    if resource != "memory":
        return amount
    if _MEGABYTES.fullmatch(amount):
        return f"{amount}Mi"
    found = _SUFFIXED.fullmatch(amount)
    return f"{found[1]}{found[2]}i" if found else amount
