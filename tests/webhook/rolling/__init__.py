"""Several replicas behind a balancer, replaced while Jobs are created."""
