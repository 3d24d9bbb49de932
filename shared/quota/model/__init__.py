"""What there is: the tree, its limits, the work, and the rules they must obey. Nothing here measures or decides."""
