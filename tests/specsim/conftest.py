"""Hypothesis without a deadline: how long an example takes says nothing about whether it is right."""

from hypothesis import settings

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
