"""What is decided or awaited, and not yet observed: writes, answers to starts, the end of pods. Pure."""
