"""The Python SDK of Holdfast. The clients themselves are not written yet; see the README's status."""

__version__ = "0.1.0"
