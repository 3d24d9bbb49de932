"""All workloads, as their objects say and as decisions under way will make them; only changes are read again. Pure.

`cache.py` puts the parts together: objects and what they say below, what is observed and decided above. The key of a
workload is the uid of its Job or single pod, namespace/name of its pod group, or uid@namespace of its object of a
governed kind.
"""
