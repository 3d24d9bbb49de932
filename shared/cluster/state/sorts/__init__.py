"""What differs between the sorts of workload, one module each; everything else is written once over `WorkloadSort`.

No other module of the reconciler's state asks which sort an object is of. What is written on it differs in
`reconciler.write.sorts`. Pure.
"""
