"""Cases of `quotree test`: how they are written, what happens in one, and how that differs from what it expects.

No rule of quota is said here: the engine and the rules that the cluster uses give every answer.
"""
