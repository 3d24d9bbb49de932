"""Reviews of Jobs and pods: held when they come, given their placement when they start."""
