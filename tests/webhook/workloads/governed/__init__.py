"""What governed objects make, and kinds that pods make."""
