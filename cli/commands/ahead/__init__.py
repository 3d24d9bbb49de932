"""The commands that say what would happen: to files, after an edit of the tree, to a workload that is submitted."""
