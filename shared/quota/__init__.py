"""The engine: measures shares, decides which workloads start and stop. Pure; inside it decide > measure > model."""
