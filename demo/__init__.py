"""`make demo`: Quotree at work on a slice of a real GPU cluster, in one terminal, every step checked through the API."""
