"""What one control plane takes of this machine while it lives: processes, ports and a folder."""
