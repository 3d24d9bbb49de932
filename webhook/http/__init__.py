"""The HTTPS server and what all routes share. Knows nothing of quota."""
