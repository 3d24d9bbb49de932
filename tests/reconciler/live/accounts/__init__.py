"""Accounts and budgets beside what the API server has recorded."""
