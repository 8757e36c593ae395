"""The only module that reads the environment."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.checks import demand, demand_choice, demand_whole
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
    access_log: str = "off"  # a line for every request, which costs as much as serving it

    def __post_init__(self) -> None:
        demand_whole("the port", self.port, 0, 65_535)
        demand_choice(f"{PREFIX}AUTH", self.auth, ("on", "off"))
        demand_choice(f"{PREFIX}ACCESS_LOG", self.access_log, ("on", "off"))
        demand(
            self.auth == "on" or is_loopback(self.host),
            f"{PREFIX}AUTH=off is allowed on a loopback address only: anyone who reaches {self.host} could do anything",
        )


def from_environment(environment: Mapping[str, str], **flags: str | int | None) -> Settings:
    """Settings from `HOLDFAST_*` variables, with the flags that were given."""
    values: dict[str, str | int] = {}
    for name in Settings.__dataclass_fields__:
        if (text := environment.get(PREFIX + name.upper())) is not None:
            values[name] = _port(text) if name == "port" else text
    values.update({name: flag for name, flag in flags.items() if flag is not None})
    return Settings(**values)  # type: ignore[arg-type]  # checked by Settings itself


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _port(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidConfiguration(f"{PREFIX}PORT must be a whole number") from None
