"""Where the server is and with which key: arguments win over the environment. The only module that reads it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from holdfast_client.errors import ConfigurationError
from holdfast_client.version import __version__

URL_VARIABLE = "HOLDFAST_URL"
KEY_VARIABLE = "HOLDFAST_API_KEY"
DEFAULT_URL = "http://127.0.0.1:8000"  # where `holdfast serve` listens unless told otherwise
TIMEOUT_S = 30.0
DECISION_TIMEOUT_S = 2.0


@dataclass(frozen=True)
class Address:
    """A server, and what is sent to it with every request."""

    base_url: str
    headers: Mapping[str, str]


def address(base_url: str | None, api_key: str | None, environment: Mapping[str, str] | None = None) -> Address:
    """The server to talk to, checked before anything is sent.

    >>> address(None, None, {"HOLDFAST_URL": "https://holdfast.example/"}).base_url
    'https://holdfast.example'
    """
    environment = os.environ if environment is None else environment
    url = (base_url or environment.get(URL_VARIABLE) or DEFAULT_URL).strip()
    key = (api_key if api_key is not None else environment.get(KEY_VARIABLE, "")).strip()
    if not _is_address(url):
        raise ConfigurationError("the address must be http:// or https:// and a host, without a query")
    if not key.isascii() or not key.isprintable():
        raise ConfigurationError("the API key has characters that no key has")  # and is never echoed
    headers = {"User-Agent": f"holdfast-client/{__version__}", "Accept": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return Address(url.rstrip("/"), headers)


def _is_address(text: str) -> bool:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        return False
    return url.scheme in ("http", "https") and bool(url.host) and not url.query and not url.fragment
