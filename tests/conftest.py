"""One BLAS thread before numpy is imported (as `make` does), and a Hypothesis profile without deadlines."""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from hypothesis import settings  # noqa: E402  # must come after the variables

settings.register_profile("holdfast", deadline=None, derandomize=True)
settings.load_profile("holdfast")
