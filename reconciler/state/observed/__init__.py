"""What the watches show: records of each kind of object, and what follows from them alone."""
