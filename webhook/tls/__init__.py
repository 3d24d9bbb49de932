"""The server's certificate: made, kept, rotated."""
