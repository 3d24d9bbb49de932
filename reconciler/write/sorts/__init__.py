"""What is written on each sort of workload, to start and to evict it; one module each, all others write through these.

Pure, as `reconciler.write.patches`, which makes the patches.
"""
