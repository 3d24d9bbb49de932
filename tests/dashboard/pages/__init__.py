"""What each page is given to show."""
