"""What `python -m benchmarks.starts` starts Jobs with: Quotree, Kueue, and bare patches, each as a contender."""
