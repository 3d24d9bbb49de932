"""How objects' JSON becomes typed views, what of it cannot be read, and how a change is written as a patch."""
