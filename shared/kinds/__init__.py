"""Kinds that are governed by a descriptor in the settings: how their objects are read, and how they are patched.

Pure, except that `presets` reads files of this package. It knows nothing of quota, of Quotree's processes or of the
network. Batch Jobs and pods are no such kinds: `shared.api.core` reads them.

See docs/kinds.md and docs/specification.md §13.
"""
