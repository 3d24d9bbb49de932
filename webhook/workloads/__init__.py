"""Reviews of Jobs and pods: held at creation, given their placement at the start."""
