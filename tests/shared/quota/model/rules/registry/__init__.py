"""The list of rules: what it holds, and what is made from it."""
