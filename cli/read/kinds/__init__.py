"""What is read of a descriptor: from samples of its kind, and from the definition of its kind."""
