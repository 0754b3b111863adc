"""Packages for speculative decoding from the Python Package Index, held to the exact laws of table models.

A package that takes models of transformers gets table models in their place; `grid` turns its modes into cases.
"""
