"""A slow engine that follows the specification word by word, and what is compared with it."""
