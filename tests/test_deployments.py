"""compose.yaml and kubernetes.yaml: valid, confined, and for one process a store."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import kubernetes_validate
import pytest
import yaml

from littled.cli.entry import group
from littled.configuration import load_configuration
from littled.service.tls import TlsFiles
from littled.store.place import MarkFile
from support.containers import USER

ROOT = Path(__file__).parent.parent
PACKAGING = ROOT / "packaging"
CLUSTER = ("kubernetes.yaml", "kubernetes-init.yaml")
# The first version in which a claim for one pod is for everybody, and the newest that is known.
CLUSTER_VERSIONS = ("1.29", kubernetes_validate.latest_version())
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def objects(name: str) -> list[dict[str, Any]]:
    """The objects of a manifest."""
    return list(yaml.safe_load_all((PACKAGING / name).read_text(encoding="utf-8")))


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [each for name in CLUSTER for each in objects(name) if each["kind"] == kind]


def compose() -> dict[str, Any]:
    text = (PACKAGING / "compose.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def parsed(arguments: list[str]) -> Mapping[str, Any]:
    """What the command line of a container means; click.UsageError."""
    command = group.get_command(click.Context(group), arguments[0])
    assert command is not None
    return command.make_context(arguments[0], arguments[1:]).params


def pods() -> Iterator[dict[str, Any]]:
    """The specifications of pods of both manifests."""
    for each in (*of_kind("StatefulSet"), *of_kind("Job")):
        yield each["spec"]["template"]["spec"]


# --- compose --------------------------------------------------------------------------------------


def check_schema(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    return subprocess.run(
        [*command, str(path)], check=False, capture_output=True, text=True, timeout=60
    )


@pytest.mark.long
def test_compose_is_valid(tmp_path: Path) -> None:
    checked = check_schema(PACKAGING / "compose.yaml")
    assert checked.returncode == 0, checked.stdout
    text = (PACKAGING / "compose.yaml").read_text(encoding="utf-8")
    (tmp_path / "compose.yaml").write_text(text.replace("read_only: true", "readonly: true"))
    assert check_schema(tmp_path / "compose.yaml").returncode == 1


def test_every_service_of_compose_is_confined() -> None:
    for name, service in compose()["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", service["user"])
        assert re.search(r":v?\d+\.\d+\.\d+$", service["image"]), "a tag that is pinned"
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    assert compose()["networks"]["inside"] == {"internal": True}


def test_whatever_compose_names_is_there() -> None:
    whole = compose()
    assert set(whole["secrets"]) == {
        secret for service in whole["services"].values() for secret in service["secrets"]
    }
    for each in whole["configs"].values():
        assert (PACKAGING / each["file"]).is_file()
    named = {
        volume.partition(":")[0]
        for service in whole["services"].values()
        for volume in service["volumes"]
    }
    assert named == set(whole["volumes"]) == {"store", "mark", "prometheus", "grafana"}
    asked = {
        each["source"] for service in whole["services"].values() for each in service["configs"]
    }
    assert asked == set(whole["configs"])


def test_the_daemon_of_compose_is_told_where_its_files_are() -> None:
    service = compose()["services"]["littled"]
    said = parsed(service["command"])
    assert str(said["store"]) == "/var/lib/littled/store"
    assert str(said["mark"]) == "/var/lib/littled-mark/high-water-mark"
    assert said["token_file"].name in service["secrets"]
    assert said["key"].name in service["secrets"]
    assert service["user"] == f"{USER}:{USER}"
    assert load_configuration(PACKAGING / "littled.toml").streams.keys() == {"scores"}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_prometheus_takes_its_configuration(tmp_path: Path) -> None:
    text = (PACKAGING / "prometheus.yml").read_text(encoding="utf-8")
    (tmp_path / "token").write_text("0" * 64, encoding="ascii")
    (tmp_path / "prometheus.yml").write_text(
        text.replace("/run/secrets/metrics.token", str(tmp_path / "token")), encoding="utf-8"
    )
    shutil.copy(PACKAGING / compose()["configs"]["alerts.yml"]["file"], tmp_path / "alerts.yml")
    promtool = shutil.which("promtool")
    assert promtool is not None
    checked = subprocess.run(
        [promtool, "check", "config", str(tmp_path / "prometheus.yml")],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "littled:8790" in text


# --- Kubernetes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", CLUSTER_VERSIONS)
@pytest.mark.parametrize("name", CLUSTER)
def test_every_object_is_valid(name: str, version: str) -> None:
    for each in objects(name):
        kubernetes_validate.validate(each, version, strict=True)


def test_a_wrong_object_is_found() -> None:
    (wrong,) = of_kind("StatefulSet")
    wrong["spec"]["replica"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, CLUSTER_VERSIONS[0], strict=True)


def test_a_store_has_one_pod() -> None:
    (served,) = of_kind("StatefulSet")
    assert served["spec"]["replicas"] == 1
    # each replica would have a store of its own, and with it a budget of its own
    assert "volumeClaimTemplates" not in served["spec"]
    claims = {each["metadata"]["name"]: each["spec"] for each in of_kind("PersistentVolumeClaim")}
    assert {name: each["accessModes"] for name, each in claims.items()} == {
        "littled-store": ["ReadWriteOncePod"],
        "littled-mark": ["ReadWriteOncePod"],
    }
    for pod in pods():
        used = [each["persistentVolumeClaim"]["claimName"] for each in pod["volumes"]
                if "persistentVolumeClaim" in each]  # fmt: skip
        assert used == ["littled-store", "littled-mark"]


def test_pods_are_restricted() -> None:
    """By the Pod Security Standard of that name."""
    for pod in pods():
        outer = pod["securityContext"]
        assert outer["runAsNonRoot"] is True
        assert {outer["runAsUser"], outer["runAsGroup"], outer["fsGroup"]} == {USER}
        assert outer["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"}.intersection(pod)
        (container,) = pod["containers"]
        assert container["securityContext"] == RESTRICTED
        assert {each for volume in pod["volumes"] for each in volume if each != "name"} <= {
            *("persistentVolumeClaim", "secret", "emptyDir", "configMap"),
        }
        # a secret that others than its group can read is refused by the daemon
        modes = [each["secret"]["defaultMode"] for each in pod["volumes"] if "secret" in each]
        assert set(modes) == {0o440}


def test_commands_of_pods_are_understood_and_find_their_files() -> None:
    for pod in pods():
        (container,) = pod["containers"]
        said = parsed(container["args"])
        mounted = [each["mountPath"] for each in container["volumeMounts"]]
        for name in ("key", "mark", "store", "configuration", "unix", "token_file", "tls_cert"):
            path = said.get(name)
            path = path.path if isinstance(path, MarkFile) else path
            assert path is None or any(path.is_relative_to(each) for each in mounted), path
        names = {volume["name"] for volume in pod["volumes"]}
        assert {each["name"] for each in container["volumeMounts"]} == names
    (served,) = of_kind("StatefulSet")
    said = parsed(served["spec"]["template"]["spec"]["containers"][0]["args"])
    assert TlsFiles(said["tls_cert"], said["tls_key"], None)
    assert said["plaintext"] is False


def test_probes_ask_whether_commits_go_through() -> None:
    (served,) = of_kind("StatefulSet")
    (container,) = served["spec"]["template"]["spec"]["containers"]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = container[probe]["httpGet"]
        assert asked == {"path": "/healthz", "port": "https", "scheme": "HTTPS"}


def test_nothing_is_called_and_few_may_call() -> None:
    (policy,) = of_kind("NetworkPolicy")
    assert policy["spec"]["egress"] == []
    assert set(policy["spec"]["policyTypes"]) == {"Ingress", "Egress"}
    assert all(each["from"] for each in policy["spec"]["ingress"])
    labels = {"app.kubernetes.io/name": "littled"}
    (budget,) = of_kind("PodDisruptionBudget")
    (service,) = of_kind("Service")
    (served,) = of_kind("StatefulSet")
    assert policy["spec"]["podSelector"] == budget["spec"]["selector"] == {"matchLabels": labels}
    assert service["spec"]["selector"] == labels
    assert served["spec"]["template"]["metadata"]["labels"] == labels
