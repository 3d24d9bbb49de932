"""What a reconciler does when processes, leaders, clocks, requests or its own steps fail."""
