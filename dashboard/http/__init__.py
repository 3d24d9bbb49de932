"""How a browser gets the pages: routes, the stream of changes, and access control."""
