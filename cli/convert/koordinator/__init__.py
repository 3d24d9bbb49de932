"""Koordinator and scheduler-plugins: ElasticQuotas, the profiles of their trees, and the workloads that name them."""
