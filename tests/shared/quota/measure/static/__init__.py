"""What follows from the tree, flavors and nodes alone."""
