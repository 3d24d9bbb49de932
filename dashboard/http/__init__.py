"""How a browser on this machine gets the pages: routes, the stream of changes, and who is kept out."""
