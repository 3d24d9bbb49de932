"""The live cluster with the rights of the user: objects, settings, version, answers, and what names mean there."""
