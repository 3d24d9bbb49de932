"""What to do: which work starts, in which flavor, and which work stops. Decisions are data; nobody here writes."""
