"""When what waits will start: the engine is run ahead on a copy of the world. Nothing here decides.

See docs/specification.md §9.8.
"""
