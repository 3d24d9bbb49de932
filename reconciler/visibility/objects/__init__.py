"""What the visibility API shows: its kinds, their objects made of a snapshot and a plan, and their tables. Pure."""
