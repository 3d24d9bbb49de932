"""What the engine costs, and how well it decides: no API server, no network."""
