"""The engine: who may use how much, who starts, who stops. Pure; inside it decide > measure > model."""
