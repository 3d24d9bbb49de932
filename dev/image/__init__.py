"""The container image: its content (`steps`, run inside a Debian root), its archive, the engines that can build it.

May live here: everything between the sources and dist/. Not here: anything that runs in the image. Not in the wheel.
"""
