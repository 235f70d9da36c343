"""compose.yaml and the Kubernetes manifests: of the right form, and saying what the service understands."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import yaml
from tests.conftest import CHECKOUT

from befund.settings import load_settings

DEPLOY = CHECKOUT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
BIN = Path(sys.executable).parent
FILLED_IN = {"BEFUND_JUDGE_MODEL": "m", "BEFUND_JUDGE_URL": "http://judge/v1", "BEFUND_JUDGE_KEY": "k"}


def manifests() -> Iterator[dict[str, Any]]:
    for path in sorted(KUBERNETES.glob("*.yaml")):
        if path.name != "kustomization.yaml":
            yield from yaml.safe_load_all(path.read_text())


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [each for each in manifests() if each["kind"] == kind]


def pods() -> list[Any]:
    return [
        pytest.param(each["spec"]["template"]["spec"], id=each["metadata"]["name"]) for each in of_kind("Deployment")
    ]


def defaults(environment: Mapping[str, str | None]) -> dict[str, str]:
    """The environment as compose gives it where the variables it asks for are not set."""
    given = {name: value for name, value in environment.items() if value is not None}
    return {name: re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value) for name, value in given.items()}


def test_compose_follows_its_specification() -> None:
    command = [BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["befund", "worker"])
def test_compose_gives_settings_that_the_service_takes(name: str) -> None:
    environment = SERVICES[name]["environment"]
    loaded = load_settings(defaults(environment))
    assert loaded.unknown == ()
    assert loaded.settings.database_url == "postgresql+asyncpg://befund:befund@postgres/befund"
    assert load_settings({**defaults(environment), **FILLED_IN}).settings.judges.default == "openai"


def test_compose_listens_on_this_machine_alone() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert ports
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_compose_names_versions_of_what_it_does_not_build() -> None:
    images = [service["image"] for service in SERVICES.values() if "build" not in service]
    assert [image for image in images if not re.search(r":v?\d+(\.\d+)*", image)] == []


def test_compose_mounts_what_there_is() -> None:
    mounts = [mount.split(":")[0] for service in SERVICES.values() for mount in service.get("volumes", ())]
    named = [mount for mount in mounts if not mount.startswith(".")]
    assert set(named) == set(COMPOSE["volumes"])
    assert [mount for mount in mounts if mount.startswith(".") and not (DEPLOY / mount).exists()] == []


def test_compose_has_the_chroma_that_the_client_is_locked_to() -> None:
    locked = re.search(r"^chromadb==([\d.]+)", (CHECKOUT / "requirements/server.txt").read_text(), re.MULTILINE)
    assert locked is not None
    assert SERVICES["chroma"]["image"] == f"chromadb/chroma:{locked[1]}"


def test_prometheus_and_grafana_ask_the_services_of_compose() -> None:
    scraped = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())["scrape_configs"]
    targets = [target for job in scraped for group in job["static_configs"] for target in group["targets"]]
    assert {target.split(":")[0] for target in targets} <= set(SERVICES)
    source = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yaml").read_text())
    assert [each["url"] for each in source["datasources"]] == ["http://prometheus:9090"]


def test_manifests_are_valid_for_kubernetes() -> None:
    files = [path for path in sorted(KUBERNETES.glob("*.yaml")) if path.name != "kustomization.yaml"]
    done = subprocess.run(
        [BIN / "kubernetes-validate", "--strict", *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(which("kubectl") is None, reason="kubectl is not installed")
def test_kustomize_puts_them_together() -> None:
    done = subprocess.run([str(which("kubectl")), "kustomize", KUBERNETES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    objects = list(yaml.safe_load_all(done.stdout))
    assert {each["kind"] for each in objects} == {
        "ConfigMap", "Deployment", "HorizontalPodAutoscaler", "NetworkPolicy", "PodDisruptionBudget", "Service",
        "ServiceAccount",
    }  # fmt: skip
    servers = next(each for each in objects if each["metadata"]["name"] == "befund-server")
    service = next(each for each in objects if each["kind"] == "Service")
    assert service["spec"]["selector"].items() <= servers["spec"]["template"]["metadata"]["labels"].items()


def test_every_manifest_is_put_together() -> None:
    listed = set(yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"])
    there = {path.name for path in KUBERNETES.glob("*.yaml")}
    assert there - listed == {"kustomization.yaml", "secret.example.yaml"}


def test_kubernetes_gives_settings_that_the_service_takes() -> None:
    literals = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["configMapGenerator"][0]["literals"]
    given = dict(literal.split("=", 1) for literal in literals)
    loaded = load_settings({**given, **of_kind("Secret")[0]["stringData"]})
    loaded.settings.refuse_open_address()
    assert loaded.unknown == ()


@pytest.mark.parametrize("pod", pods())
def test_a_pod_has_few_rights_and_says_when_it_is_ready(pod: dict[str, Any]) -> None:
    [container] = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["securityContext"]["runAsNonRoot"]
    assert not pod["automountServiceAccountToken"]
    assert not pod["enableServiceLinks"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert set(container["resources"]) == {"requests", "limits"}


@pytest.mark.parametrize("pod", pods())
def test_a_pod_is_given_longer_to_stop_than_the_service_takes(pod: dict[str, Any]) -> None:
    assert pod["terminationGracePeriodSeconds"] > load_settings({}).settings.shutdown_seconds + 5
