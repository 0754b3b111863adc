"""The demo: the whole chain on one real model, in five minutes."""
