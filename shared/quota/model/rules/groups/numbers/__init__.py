"""Rules about the numbers of groups: each by itself, beside others of its group, and with those of a whole parent."""
