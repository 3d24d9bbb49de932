"""What is used of budgets: one meter for each, when it is spent at the present use, and what the status keeps of it."""
