"""The dashboard: its data, its guard, the live watches, and (tests/browser) its pages."""
