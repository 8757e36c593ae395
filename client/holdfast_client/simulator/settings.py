"""What the simulator takes from the environment: where the service is, and what its own one is started with."""

import os

from holdfast_client.settings import URL_VARIABLE


def service_url(given: str | None) -> str | None:
    """The service to run against, if one was named."""
    return given or os.environ.get(URL_VARIABLE) or None


def environment_of_own_service() -> dict[str, str]:
    """Without keys, and with one BLAS thread; what is set for another service is not meant for this one."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    return others | {"HOLDFAST_AUTH": "off", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
