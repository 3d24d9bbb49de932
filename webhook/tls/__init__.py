"""How the API server calls the webhook and what it trusts: CA and path in the webhook configurations."""
