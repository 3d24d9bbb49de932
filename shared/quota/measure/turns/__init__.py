"""Turns: what a job larger than its group's share is given for as long as it runs, and what that leaves to others."""
