"""Events about decisions, groups, and workloads that wait or have no node. None is repeated while nothing changes."""
