"""Which quota objects are stored, and which accepted edits might be stored yet: by watches, and by consistent reads."""
