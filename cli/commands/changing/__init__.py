"""The commands that change a cluster; all others only read."""
