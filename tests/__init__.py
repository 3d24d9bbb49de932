"""Tests mirror the packages; behaviour is tested on a real control plane, arithmetic against a slow reference."""
