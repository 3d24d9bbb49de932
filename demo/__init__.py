"""`make demo`: Quotree at work on a slice of a real GPU cluster, every step checked through the API."""
