"""Rules about QuotaGroups and the tree; one rule, one function. `numbers`: their quotas; `rights`: who may edit."""
