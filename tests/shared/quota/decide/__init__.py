"""What one cycle decides, clause by clause of DESIGN sections 5 to 8."""
