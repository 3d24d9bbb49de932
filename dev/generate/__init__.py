"""What people who change Quotree run by hand; nothing here is installed."""
