"""From the first install to the last uninstall."""
