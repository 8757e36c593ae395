"""The only module that reads the environment."""

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from holdfast.checks import demand, demand_choice, demand_number, demand_whole
from holdfast.errors import InvalidConfiguration

PREFIX = "HOLDFAST_"


@dataclass(frozen=True)
class Settings:
    """How to serve. Flags win over the environment, the environment over these defaults."""

    database_url: str = "sqlite:///holdfast.db"
    host: str = "127.0.0.1"
    port: int = 8000
    auth: str = "on"
    pepper: str = ""  # of the HMAC that keys are stored with
    rate_limit: float = 0.0  # cost per second and key (api/limits.py); 0: no limit
    rate_burst: float = 0.0  # cost that a key may have at once; 0: ten seconds of the rate
    access_log: str = "off"  # a line for every request, which costs as much as serving it

    def __post_init__(self) -> None:
        demand(bool(self.host.strip()), "the host must be an address to listen on")  # none would be all of them
        demand_whole("the port", self.port, 0, 65_535)
        demand_choice(f"{PREFIX}AUTH", self.auth, ("on", "off"))
        demand_number(f"{PREFIX}RATE_LIMIT", self.rate_limit, least=0.0)
        demand_number(f"{PREFIX}RATE_BURST", self.rate_burst, least=0.0)
        demand_choice(f"{PREFIX}ACCESS_LOG", self.access_log, ("on", "off"))
        demand(
            self.auth == "on" or is_loopback(self.host),
            f"{PREFIX}AUTH=off is allowed on a loopback address only: anyone who reaches {self.host} could do anything",
        )


def from_environment(environment: Mapping[str, str], **flags: str | int | None) -> Settings:
    """Settings from `HOLDFAST_*` variables, with the flags that were given."""
    values: dict[str, str | float] = {}
    for name in Settings.__dataclass_fields__:
        if (text := environment.get(PREFIX + name.upper())) is not None:
            values[name] = _NUMBERS[name](text, PREFIX + name.upper()) if name in _NUMBERS else text
    values.update({name: flag for name, flag in flags.items() if flag is not None})
    return Settings(**values)  # type: ignore[arg-type]  # checked by Settings itself


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _whole(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidConfiguration(f"{name} must be a whole number") from None


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidConfiguration(f"{name} must be a number") from None


_NUMBERS: dict[str, Callable[[str, str], float]] = {"port": _whole, "rate_limit": _number, "rate_burst": _number}
