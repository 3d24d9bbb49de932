"""What holds of the project's own files: rooms, words, names, citations, clauses, locks."""
