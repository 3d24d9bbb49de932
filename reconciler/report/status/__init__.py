"""What the status of groups and flavors says (pure), and the only code that writes it."""
