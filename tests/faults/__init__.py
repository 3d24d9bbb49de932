"""What goes wrong between a client and the API server, made to happen on purpose."""
