"""What an image holds, made in a root that has Python: by a `RUN` of the Dockerfile, or in a chroot without an engine.

Standard library only, for nothing else is there yet. `python3 -m dev.image.steps SOURCE OUTPUT` writes OUTPUT/base and
OUTPUT/app, the two layers of the image.
"""
