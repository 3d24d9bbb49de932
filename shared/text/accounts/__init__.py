"""What was used over time and what budgets leave, in rows and sentences."""
