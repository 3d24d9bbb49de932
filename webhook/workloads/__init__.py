"""Reviews of Jobs, pods and objects of governed kinds: held at creation, placed at the start."""
