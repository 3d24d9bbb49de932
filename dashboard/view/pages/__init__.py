"""What one page or answer shows, each as a whole: a group, a workload, the overview, the nodes, the week, a what-if."""
