"""What people and monitoring see: status, events, metrics. Decides nothing and writes no Job or pod."""
