"""What the watches report: records of each kind of object, and what is derived from them alone."""
