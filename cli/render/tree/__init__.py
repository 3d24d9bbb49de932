"""The tree of groups: as it is used now, and as it is in force at another moment. Nothing here reads a cluster."""
