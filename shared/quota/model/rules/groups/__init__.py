"""Rules about QuotaGroups and the tree; one rule, one function. `numbers`: what they hold; `rights`: who may edit them."""
