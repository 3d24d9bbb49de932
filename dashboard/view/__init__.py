"""What the pages show, as plain data: computed from one frame. Pure; every number and reason comes from the engine."""
