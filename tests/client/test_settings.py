"""The address and the key."""

import pytest

from holdfast_client import ConfigurationError
from holdfast_client.settings import DEFAULT_URL, address

ENVIRONMENT = {"HOLDFAST_URL": "https://there.example", "HOLDFAST_API_KEY": "theirs"}


def test_arguments_win_over_the_environment_and_the_environment_over_the_default() -> None:
    given = address("https://here.example/holdfast/", "mine", ENVIRONMENT)
    assert (given.base_url, given.headers["Authorization"]) == ("https://here.example/holdfast", "Bearer mine")
    found = address(None, None, ENVIRONMENT)
    assert (found.base_url, found.headers["Authorization"]) == ("https://there.example", "Bearer theirs")
    plain = address(None, None, {})
    assert plain.base_url == DEFAULT_URL
    assert "Authorization" not in plain.headers


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://here", "//here", "http://", "http://[::1", "http://here?a=b", "http://a:x/"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="http"):
        address(url, None, {})


def test_a_key_that_cannot_be_sent_is_refused_without_showing_it() -> None:
    with pytest.raises(ConfigurationError) as refused:
        address(None, "sécret", {})
    assert "cret" not in str(refused.value)
