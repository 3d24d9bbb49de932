"""Commands on a live cluster, with the rights of a user."""
