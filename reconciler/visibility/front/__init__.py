"""The process that serves the visibility API: TLS, HTTP, watches. It asks copies of the reconciler."""
