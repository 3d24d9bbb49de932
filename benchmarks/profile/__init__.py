"""Where the time of one start goes: moments of all processes on this machine's one clock, in nanoseconds since 1970.

The API server tells of itself by OpenTelemetry (`collector` receives, `spans` reads). Quotree's processes run under
`moments`, which notes when some of their functions begin and end. `stages` puts both together. Nothing of this is in
the product.
"""
