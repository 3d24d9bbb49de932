"""What was measured: figures with their bars, where they are kept, and how they are shown."""
