"""A kind invented for these tests, with an operator of a few lines, governed by its descriptor alone."""
