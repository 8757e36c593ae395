"""What can be held true about the container image and its neighbours without starting them."""

import json
import re
from pathlib import Path

import yaml

from holdfast.api.looking import STATE_BYTES_MAX
from holdfast.api.wire import BODY_BYTES_MAX

ROOT = Path(__file__).parent.parent


def _pins(name: str) -> dict[str, str]:
    """The packages of a lock, each with its version and hashes."""
    blocks = re.split(r"\n(?=\w)", (ROOT / name).read_text(encoding="utf-8").strip())
    return {block.partition("==")[0]: re.sub(r" ;[^\\]*", " ", block) for block in blocks}


def test_the_image_installs_a_part_of_the_lock_and_nothing_else() -> None:
    everything, needed = _pins("requirements.lock"), _pins("requirements-service.lock")
    assert {"fastapi", "numpy", "psycopg-binary", "hatchling"} <= set(needed)
    assert not {"pytest", "mypy", "schemathesis"} & set(needed)
    assert all(everything[name] == pin and "--hash=sha256:" in pin for name, pin in needed.items())


def test_the_proxy_has_the_same_cap_on_bodies_as_the_service() -> None:
    nginx = (ROOT / "deploy/nginx.conf").read_text(encoding="utf-8")
    assert f"client_max_body_size {BODY_BYTES_MAX // 2**20}m;" in nginx
    assert f"{BODY_BYTES_MAX:,} bytes" in nginx
    assert f"client_max_body_size {STATE_BYTES_MAX // 2**20}m;" in nginx


def test_what_the_proxy_answers_itself_has_a_request_id_too() -> None:
    nginx = (ROOT / "deploy/nginx.conf").read_text(encoding="utf-8")
    answers = re.findall(r"add_header X-Request-Id \$named always;\s+return \d+ '(.*)';", nginx)
    assert len(answers) == nginx.count(" return ") == 4
    assert all(json.loads(answer)["request_id"] == "$named" for answer in answers)


def test_every_file_the_composition_mounts_is_there() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    assert services["holdfast"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    assert services["holdfast"]["read_only"] is True
    mounted = [volume.split(":")[0] for service in services.values() for volume in service.get("volumes", [])]
    files = [path for path in mounted if path.startswith("./")]
    assert len(files) == 4
    assert all((ROOT / path).exists() for path in files)


def test_the_dashboard_asks_the_provisioned_source() -> None:
    folder = ROOT / "deploy/grafana"
    source = yaml.safe_load((folder / "provisioning/datasources/prometheus.yml").read_text(encoding="utf-8"))
    dashboard = json.loads((folder / "dashboards/holdfast.json").read_text(encoding="utf-8"))
    assert {panel["datasource"]["uid"] for panel in dashboard["panels"]} == {source["datasources"][0]["uid"]}
