"""Devices that pods request by ResourceClaims: which they are, as which resources they count, and in which flavors."""
