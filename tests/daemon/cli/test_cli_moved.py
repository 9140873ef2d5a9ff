"""Commands about a stream that another daemon serves go there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import Littled
from support.moving import moving


@pytest.mark.parametrize("killed", [True, False])
def test_commands_go_where_the_stream_is(tmp_path: Path, littled: Littled, killed: bool) -> None:
    """`-a` is given several times, once with an address where nobody is any more."""
    lines = "".join(f"{i * 97 % 256},{int(i * 97 % 256 >= 84)}\n" for i in range(4_000))
    file = tmp_path / "late.csv"
    file.write_text("x,y\n" + lines)
    with moving(tmp_path) as (store, address):
        at = ("-a", f"unix:{tmp_path}/gone.sock", "-a", address)
        for again in (False, True):
            said = littled("feed", "flights", file, "--x", "x", "--y", "y", *at, "--json")
            assert said.status == 0, said.err
            facts = json.loads(said.out)
            assert (facts["examples"], facts["acknowledged"]) == (0 if again else 4_000, 4_000)
            store.leave(killed=killed)
            store.serve()
        commas = ("-a", f"unix:{tmp_path}/gone.sock,{address}")
        said = littled("status", "flights", *commas, "--json")
        assert json.loads(said.out)["streams"]["flights"]["position"] == 4_000
        assert littled("watch", "flights/late", "--count", "1", *commas).out.startswith("version 1")
        assert littled("rule", "show", "flights/late", *commas).status == 0
        # Of all streams a daemon tells of those that it serves itself.
        said = littled("status", *commas, "--json")
        assert list(json.loads(said.out)["streams"]) == ["other"]
