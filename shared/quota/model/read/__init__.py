"""Read objects into the model: workloads of Jobs, pods and governed kinds, groups and flavors."""
