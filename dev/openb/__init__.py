"""A real heterogeneous GPU cluster as Kubernetes objects, for the demo, the tests and the benchmarks.

`data/` holds openb_nodes.csv and openb_pods.csv of Alibaba's public trace cluster-trace-gpu-v2023 (1,213 GPU nodes of
several models, 8,152 pods). Nothing here knows of quota beyond the names of labels.
"""
