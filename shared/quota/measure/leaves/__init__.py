"""Each leaf with its workloads in order, and the sums over them."""
