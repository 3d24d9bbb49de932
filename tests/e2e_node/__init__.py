"""Quotree as its users have it: installed by helm on a real node, its image in real containers. Run by `make e2e`.

Needs root and a few Debian packages (`python -m dev.node check` names what is absent), so it is no part of `make test`.
"""
