"""One BLAS thread, set before anything imports numpy, as `make` does: faster at these sizes, and the same bits."""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
