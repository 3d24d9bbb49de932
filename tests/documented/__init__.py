"""What the pages tell their readers to run does what they say."""
