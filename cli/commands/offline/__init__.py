"""Commands that need no cluster: they read files, or nothing. `test` can take the tree of a cluster."""
