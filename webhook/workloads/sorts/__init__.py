"""What differs in the reviews of Jobs, pods and objects of governed kinds: one module for each sort, nothing else."""
