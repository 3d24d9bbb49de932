"""What is handed out: image and its list of packages, chart, wheel, kubectl plugin, checksums. Not in the wheel."""
