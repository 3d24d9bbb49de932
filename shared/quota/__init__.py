"""The engine: measures shares, decides which workloads start and stop, and says why. Pure.

Inside it: outlook > decide > measure > model.
"""
