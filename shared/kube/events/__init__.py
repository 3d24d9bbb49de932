"""Events for `kubectl get events`: what is recorded of one, how many are allowed, and the task that sends them."""
