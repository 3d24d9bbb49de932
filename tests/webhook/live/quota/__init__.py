"""Rules about groups and flavors, as kubectl meets them."""
