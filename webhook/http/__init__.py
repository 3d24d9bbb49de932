"""The HTTPS server and what all routes share. Code here depends on no quota rule."""
