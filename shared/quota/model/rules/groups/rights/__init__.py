"""Rules about who may make an edit: what it takes from siblings, and whose part of the tree it divides."""
