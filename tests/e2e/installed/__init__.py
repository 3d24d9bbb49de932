"""An installation's own life: upgrades, availability, what is left without it."""
