"""Writes that start workloads: their patches, what follows a refusal, and the start times that Kubernetes keeps."""
