"""Files of grants: one token or TOML, and one clear sentence for whatever is wrong in them."""

import grp
import hashlib
import os
import pwd
import re
from dataclasses import replace
from pathlib import Path

import pytest

from littled.service.access import (
    EVERYTHING,
    Access,
    AccessError,
    Caller,
    Grant,
    Permission,
    Rights,
    Shown,
    digest_of,
)
from littled.service.grants import read_access

TOKEN = "0123456789abcdef" * 2
OTHER = "fedcba9876543210" * 2


def remote(access: Access, token: str | None, common_name: str | None = None) -> Rights | None:
    """The rights of a peer on TCP."""
    return access.rights(Shown(digest_of(token or ""), common_name))


def local(access: Access, token: str | None, caller: Caller) -> Rights | None:
    """The rights of a peer on a Unix socket."""
    return access.rights(Shown(digest_of(token or ""), None, caller))


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "tokens"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    "text", [TOKEN, f"{TOKEN}\n", f"  {TOKEN} \n\n", "a=1" + "0" * 40, "[" * 40]
)
def test_a_file_of_one_line_is_a_token_with_every_role(tmp_path: Path, text: str) -> None:
    access = read_access(written(tmp_path, text))
    rights = remote(access, text.strip())
    assert rights is not None
    assert all(rights.may(permission, "any") for permission in Permission)
    assert remote(access, None) is None
    assert local(access, None, Caller(7, frozenset())) == EVERYTHING


def test_roles_by_token_certificate_user_and_group(tmp_path: Path) -> None:
    me, mine = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name
    access = read_access(
        written(
            tmp_path,
            f"""
[tokens.lab]
token = "{TOKEN}"
roles = ["feed"]
streams = ["flights"]
[tokens.desk]
sha256 = "{hashlib.sha256(OTHER.encode()).hexdigest().upper()}"
roles = ["subscribe", "predict"]
[certificates."feeder 1"]
roles = ["feed"]
[users.{me}]
roles = ["operate"]
[users.12345]
roles = ["predict"]
[groups.{mine}]
roles = ["subscribe"]
""",
        )
    )
    lab, desk = remote(access, TOKEN), remote(access, OTHER)
    assert lab is not None
    assert desk is not None
    assert (lab.may(Permission.FEED, "flights"), lab.may(Permission.FEED, "ids")) == (True, False)
    assert desk.may(Permission.PREDICT, "any")
    assert not desk.may(Permission.OPERATE)
    assert remote(access, None, "feeder 1") is not None
    us = local(access, None, Caller(os.getuid(), frozenset({os.getgid()})))
    assert us is not None
    assert us.may(Permission.OPERATE)
    assert us.may(Permission.SUBSCRIBE)
    assert local(access, None, Caller(12345, frozenset({12345}))) is not None
    assert local(access, None, Caller(12346, frozenset({12346}))) is None


@pytest.mark.parametrize(
    "text",
    [
        "[users.12345]\nroles = ['feed']",
        "[groups.12345]\nroles = ['feed']",
        "[tokens]\n[users.12345]\nroles = ['feed']",
        "[tokens]\n",
        "[users]\n",
        "# nobody\n# yet",
    ],
)
def test_a_file_without_a_token_lets_nobody_in_by_a_port(tmp_path: Path, text: str) -> None:
    access = read_access(written(tmp_path, text))
    assert access.closes_ports
    for token, name in ((None, None), (TOKEN, None), (None, "feeder 1")):
        assert remote(access, token, name) is None
        assert remote(replace(access, client_ca=True), token, name) is None
    for more in (f"[tokens.a]\ntoken = '{TOKEN}'", "[certificates.'feeder 1']"):
        opened = read_access(written(tmp_path, f"{text}\n{more}\nroles = ['feed']"))
        assert not opened.closes_ports
        assert remote(opened, TOKEN, "feeder 1") is not None
        assert remote(opened, None) is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the token file PATH is empty"),
        ("short", "the token is shorter than 32 bytes; make one with `openssl rand -hex 32`"),
        ("one\ntwo\n", "PATH is neither a single token nor TOML (at line 1, column 4)"),
        (f"{TOKEN}\n{OTHER}", "PATH is neither a single token nor TOML (at line 1, column 33)"),
        ("[token.a]\nroles=['feed']", "PATH has no use for 'token'; it takes tokens, certificates"),
        ("[tokens]\na = 1", "PATH: tokens needs tables [tokens.NAME]"),
        ("tokens = 1\n\n#", "PATH: tokens needs tables [tokens.NAME]"),
        ("[tokens.a]\nroles = ['feed']", "PATH: tokens.a needs either token or sha256"),
        (f"[tokens.a]\nsha256 = '{TOKEN}'", "PATH: tokens.a.sha256 needs 64 hexadecimal digits"),
        ("[tokens.a]\nsha256 = 5", "PATH: tokens.a.sha256 needs 64 hexadecimal digits"),
        ("[tokens.a]\ntoken = 5", "PATH: tokens.a.token needs a text"),
        ("[tokens.a]\ntoken = '5'", "PATH: tokens.a.token is shorter than 32 bytes; make one wi"),
        (
            f"[tokens.a]\ntoken = '{TOKEN}'",
            "PATH: tokens.a.roles needs a list of at least one name",
        ),
        (f"[tokens.a]\ntoken = '{TOKEN}'\nroles = []", "PATH: tokens.a.roles needs a list of at l"),
        (f"[tokens.a]\ntoken = '{TOKEN}'\nroles = 'feed'", "PATH: tokens.a.roles needs a list of"),
        (
            f"[tokens.a]\ntoken = '{TOKEN}'\nroles = ['feed', 'admin']",
            "PATH: tokens.a has no role 'admin'; there are feed, subscribe, predict, operate",
        ),
        (
            f"[tokens.a]\ntoken = '{TOKEN}'\nroles = ['feed']\nstreams = []",
            "PATH: tokens.a.streams needs a list of at least one name",
        ),
        (
            f"[tokens.a]\ntoken = '{TOKEN}'\nroles = ['feed']\nstream = 'x'",
            "PATH: tokens.a has no use for 'stream'",
        ),
        (
            f"[tokens.a]\ntoken = '{TOKEN}'\nroles = ['feed']\n"
            f"[tokens.b]\ntoken = '{TOKEN}'\nroles = ['predict']",
            "PATH: tokens.a and tokens.b are the same token",
        ),
        (
            "[users.no-such-user]\nroles = ['feed']",
            "PATH: users.no-such-user is unknown on this ma",
        ),
        ("[groups.no-such]\nroles = ['feed']", "PATH: groups.no-such is unknown on this machine"),
        ("[users.65534]\nroles = ['feed']", "PATH: users.65534 is 65534, which may stand for any"),
        (
            "[users.7]\nroles = ['feed']\n[users.07]\nroles = ['predict']",
            "PATH: users.7 and users.07 are the same",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(AccessError) as raised:
        read_access(path)
    said = str(raised.value)
    assert said.startswith(sentence.replace("PATH", str(path)))
    assert "\n" not in said
    assert TOKEN not in said
    assert OTHER not in said


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o602, 0o620, 0o601, 0o666])
def test_a_file_that_others_can_read_or_change_is_refused(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path, TOKEN, mode)
    with pytest.raises(AccessError, match=f"has mode {mode:04o}.* run chmod 600 "):
        read_access(path)


@pytest.mark.parametrize("mode", [0o400, 0o440, 0o600, 0o640])
def test_a_file_that_the_group_may_read_is_fine(tmp_path: Path, mode: int) -> None:
    read_access(written(tmp_path, TOKEN, mode))


def test_the_file_in_the_documents_is_right(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "access.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    numbered = example.replace("users.alice", "users.1234").replace("littled-operators", "1234")
    access = read_access(written(tmp_path, numbered))
    assert remote(access, "0" * 64) is not None
    assert len(access.tokens) == 2
    assert (set(access.certificates), set(access.users)) == ({"feeder-1"}, {1234})
    rows = dict(re.findall(r"^\| `(\w+)` \|([^|]*)\|", page, re.MULTILINE))
    assert set(rows) == {permission.value for permission in Permission}
    for permission in Permission:
        refused = Rights((Grant("all but one", frozenset(Permission) - {permission}),))
        assert refused.refused_types == set(re.findall(r"`(\w+)`", rows[permission.value]))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(AccessError, match=r"cannot read the token file .*No such file"):
        read_access(tmp_path / "none")
    with pytest.raises(AccessError, match=r"cannot read the token file .*directory"):
        read_access(tmp_path)
    path = written(tmp_path, TOKEN)
    path.write_bytes(b"\xff" * 40)
    with pytest.raises(AccessError, match="is no text"):
        read_access(path)
    path.write_bytes(b"a" * (1 << 21))
    with pytest.raises(AccessError, match="is longer than"):
        read_access(path)
