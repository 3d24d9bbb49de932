"""Rules about QuotaGroups and the tree; one rule, one function."""
