"""What one cycle decides, clause by clause of docs/specification.md §6 to §8."""
