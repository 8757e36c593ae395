"""Pure: from what a caller sends, vectors or JSON objects, to one row φ in the unit ball per candidate."""

from holdfast.features.candidates import Candidate, Encoder
from holdfast.features.dense import Dense
from holdfast.features.hashed import Hashed

__all__ = ["Candidate", "Dense", "Encoder", "Hashed"]
