"""What reading objects costs: the first list, objects of governed kinds, and very large ones."""
