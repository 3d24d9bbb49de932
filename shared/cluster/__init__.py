"""The cluster as its objects tell it: the engine's world, made from what watches or manifests observe.

`state` is pure; `watches` connects it with a live cluster.
"""
