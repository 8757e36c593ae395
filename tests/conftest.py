"""Hypothesis without deadlines and with the same examples every time."""

from hypothesis import settings

settings.register_profile("holdfast", deadline=None, derandomize=True)
settings.load_profile("holdfast")
