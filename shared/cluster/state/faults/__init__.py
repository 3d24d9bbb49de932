"""Which object a fault of Quotree's own concerns, and what counts in its place. Pure: no I/O, no logging, no clock."""
