"""Reviews of objects of governed kinds, and of what is made for them. Pure."""
