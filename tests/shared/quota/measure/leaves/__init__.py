"""What one leaf has waiting, and in which order."""
