"""What only developers of Quotree need; nothing here is shipped."""
