"""Holdfast: an online decision service that keeps learning well when somebody lies to it."""

__version__ = "0.1.0"
