"""Slurm: accounts, users and QOS, as sacctmgr prints them."""
