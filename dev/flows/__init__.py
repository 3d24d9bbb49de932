"""The paths that a review, a start, an edit and a simulation take through the code, traced in real processes."""
