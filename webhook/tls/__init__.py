"""How the API server is told to call the webhook, and whom to trust: CA and path in the webhook configurations."""
