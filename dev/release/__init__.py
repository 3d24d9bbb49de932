"""What is handed out: image, chart package, wheel, the list of what is in the image, checksums. Not in the wheel."""
