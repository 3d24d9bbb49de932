"""How objects become what the engine measures: workloads of Jobs, pods and governed kinds, groups and flavors."""
