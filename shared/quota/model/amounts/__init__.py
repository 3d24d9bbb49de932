"""How numbers of a tree come about: whole numbers in proportion, and what percents come to. It knows no rule."""
