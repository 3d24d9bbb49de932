"""What owners and administrators do around decisions, in good and in bad faith."""
