"""What the watches report and what was just decided, frozen into a snapshot. Pure: no await, no I/O."""
