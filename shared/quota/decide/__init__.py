"""Decides which workloads start, in which flavors, and which stop. Decisions are data; nothing is written here."""
