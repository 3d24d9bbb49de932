"""Parts with I/O: start the processes, submit workloads, inject faults, and collect the history."""
