"""The programs of a control plane: which are wanted, which the user has, and how the others are built once."""
