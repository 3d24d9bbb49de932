"""Turn the quota objects of other systems into Quotree's: one module a system. Nothing is printed or judged here."""
