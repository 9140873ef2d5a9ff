"""What may happen to a cluster: each fault with a seed of its chance."""

import random
import signal
import time
from collections.abc import Callable

from cluster.life import AGAIN, Life, Served, Wrong


def kill_the_owner(life: Life, chance: random.Random) -> None:
    """The daemon that serves is killed."""
    life.owner().signal(signal.SIGKILL)


def freeze_the_owner(life: Life, chance: random.Random) -> None:
    """It stands still for a while, and nobody takes over."""
    owner = life.owner()
    owner.signal(signal.SIGSTOP)
    life.wait(chance.uniform(0.1, 4))
    owner.signal(signal.SIGCONT)


def put_off_the_owner(life: Life, chance: random.Random) -> None:
    """It stands still, its lock goes, another one takes over and is fed; then it wakes up."""
    owner = life.owner()
    owner.signal(signal.SIGSTOP)
    while life.servers.in_transaction():  # which nobody takes over before it wakes up
        owner.signal(signal.SIGCONT)
        life.wait(chance.uniform(0, 0.2))
        owner = life.owner()
        owner.signal(signal.SIGSTOP)
    life.servers.end(
        "terminate", "pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted)"
    )
    before = life.acknowledged()
    life.comes(lambda: life.acknowledged() > before + AGAIN, 60)
    life.wait(chance.uniform(0, 2))
    owner.signal(signal.SIGCONT)


def kill_a_member(life: Life, chance: random.Random) -> None:
    """A member of etcd is killed, and comes back."""
    chance.choice(life.etcd.members).kill()
    life.wait(chance.uniform(0.5, 3))


def freeze_the_leader(life: Life, chance: random.Random) -> None:
    """etcd's leader stands still."""
    leader = life.etcd.leader()
    leader.freeze()
    life.wait(chance.uniform(0.5, 4))
    leader.thaw()


def lose_the_majority(life: Life, chance: random.Random) -> None:
    """Two members of etcd stand still."""
    frozen = chance.sample(life.etcd.members, 2)
    for member in frozen:
        member.freeze()
    life.wait(chance.uniform(0.5, 6))
    for member in frozen:
        member.thaw()


def freeze_a_standby(life: Life, chance: random.Random) -> None:
    """One standby stands still; the other one is enough."""
    frozen = [chance.choice(life.servers.standbys)]
    life.servers.freeze(frozen)
    life.wait(chance.uniform(0.5, 3))
    life.servers.thaw(frozen)


def freeze_the_standbys(life: Life, chance: random.Random) -> None:
    """Both stand still: commits wait."""
    life.servers.freeze(life.servers.standbys)
    life.wait(chance.uniform(0.5, 4))
    life.servers.thaw(life.servers.standbys)


def cancel_a_wait(life: Life, chance: random.Random) -> None:
    """The wait for standbys is cancelled, so that a commit succeeds with a warning; a failover."""
    life.servers.freeze(life.servers.standbys)
    if life.comes(life.servers.waits, 10):
        life.servers.end(chance.choice(("cancel", "terminate")), "wait_event = 'SyncRep'")
    # Whoever takes over waits as well, and has seen nothing yet.
    life.comes(life.servers.waits, chance.uniform(0.2, 8))
    if chance.random() < 0.7:
        _fail_over(life)
    life.servers.thaw(life.servers.standbys)


def restart_the_primary(life: Life, chance: random.Random) -> None:
    """It is killed and started again."""
    life.servers.restart()


def show_what_no_standby_has(life: Life, chance: random.Random) -> None:
    """The primary starts again with commits that were never replicated; then it may fail over.

    Whoever takes over meanwhile waits until a standby has them. If it did not, the next commit
    would wait, and the mark would have what is lost with a failover.
    """
    life.servers.freeze(life.servers.standbys)
    life.comes(life.servers.waits, 10)
    life.servers.restart()
    life.comes(life.servers.waits, 30)
    life.wait(chance.uniform(0, 2))
    if chance.random() < 0.7:
        _fail_over(life)
    life.servers.thaw(life.servers.standbys)


def fail_over(life: Life, chance: random.Random) -> None:
    """The primary is killed, and the standby that has most is promoted."""
    if chance.random() < 0.5:
        life.servers.freeze(life.servers.standbys)
        life.comes(life.servers.waits, 10)
    _fail_over(life)


def fail_over_under_a_frozen_owner(life: Life, chance: random.Random) -> None:
    """The same while the owner stands still; another one takes over, and it wakes up."""
    owner = life.owner()
    owner.signal(signal.SIGSTOP)
    _fail_over(life)
    life.wait(chance.uniform(0, 4))
    owner.signal(signal.SIGCONT)


def _fail_over(life: Life) -> None:
    for daemon in life.daemons:
        daemon.relay.lead_to(life.folder / "nobody")
        daemon.relay.lose(0)
    life.servers.fail_over()
    for daemon in life.daemons:
        daemon.relay.lead_to(life.servers.socket)


def freeze_the_primary(life: Life, chance: random.Random) -> None:
    """The primary stands still."""
    life.servers.freeze([life.servers.primary])
    life.wait(chance.uniform(0.5, 4))
    life.servers.thaw([life.servers.primary])


def lose_connections(life: Life, chance: random.Random) -> None:
    """All connections of a daemon to its database are lost, at once or soon."""
    for daemon in chance.sample(life.daemons, chance.randint(1, len(life.daemons))):
        daemon.relay.lose(chance.choice((0, 1, 100, 3_000, 30_000)))


def delay_connections(life: Life, chance: random.Random) -> None:
    """Nothing arrives for a while, in either direction; then perhaps it is all lost."""
    delayed = chance.sample(life.daemons, chance.randint(1, len(life.daemons)))
    for daemon in delayed:
        daemon.relay.stall(stalled=True)
    life.wait(chance.uniform(0.2, 4))
    for daemon in delayed:
        if chance.random() < 0.5:
            daemon.relay.lose(0)
        daemon.relay.stall(stalled=False)


def lose_the_mark(life: Life, chance: random.Random) -> None:
    """etcd is restored from a backup under a new name; the newest copy goes on by a restore."""
    backup = life.folder / f"backup-{time.monotonic_ns()}"
    life.etcd.ctl("snapshot", "save", str(backup), members=life.etcd.members[:1])
    life.wait(chance.uniform(0.5, 3))
    life.etcd.restore(backup, f"cluster-{time.monotonic_ns()}")
    refused = "it was restored from a backup"
    life.wait_for(
        "a refusal",
        lambda: any(refused in said for each in life.daemons for said in each.said[-2:]),
    )
    life.end()
    life.command("restore", life.url_of(life.schema), "--yes")
    for each in life.daemons:
        each.said.clear()
    life.supervising = True


def serve_an_old_copy(life: Life, chance: random.Random) -> None:
    """A copy of the store is made, and served once a subscriber has seen more than it has."""
    schema = life.copy()
    has = life.servers.tell(f"SELECT coalesce(max(version), 0) FROM {schema}.releases")  # noqa: S608
    if not life.comes(lambda: life.has_seen(int(has)), 30):
        return  # this season is over
    home = life.folder / schema
    home.mkdir()
    copy = Served(-1, home, life.url_of(schema), life.daemons[0].relay)
    copy.start(life.places)
    life.wait_for("an end of an old copy", lambda: copy.serves or not copy.runs)
    served = copy.serves
    copy.signal(signal.SIGKILL)
    if served or "behind its high-water mark" not in copy.log.read_text():
        said = copy.log.read_text()[-600:]
        raise Wrong(f"a copy that is behind its mark is not refused: {said}")


def serve_a_copy_of_a_frozen_owner(life: Life, chance: random.Random) -> None:
    """A copy is served and fed while the owner stands still; then it wakes up, and is fed as well.

    The copy is the store from then on.
    """
    owner = life.owner()
    process = owner.process
    owner.signal(signal.SIGSTOP)
    # What it acknowledges is nowhere else, so only those feed it whom nobody asks what was told.
    socket = life.folder / f"frozen{len(life.schemas)}.sock"
    owner.socket.rename(socket)
    life.go_to(life.copy())
    for each in life.daemons:
        if each is not owner:
            each.signal(signal.SIGKILL)
    life.feed_anew()
    acknowledged, version = life.acknowledged(), max(life.shown(), default=0)
    life.wait_for("a copy's owner", lambda: life.acknowledged() > acknowledged + AGAIN)
    life.comes(lambda: life.has_seen(version), 30)
    peers = [life.peer(what, [socket.stem], [socket]) for what in ("watch", "feed")]
    life.wait(chance.uniform(0, 1))
    owner.signal(signal.SIGCONT)

    def has_ended() -> bool:
        life.look()
        return owner.process is not process

    life.wait_for("the end of an owner that was put off", has_ended)
    for peer in peers:
        peer.kill()
        peer.wait()


FAULTS: tuple[Callable[[Life, random.Random], None], ...] = (
    kill_the_owner,
    freeze_the_owner,
    put_off_the_owner,
    kill_a_member,
    freeze_the_leader,
    lose_the_majority,
    freeze_a_standby,
    freeze_the_standbys,
    cancel_a_wait,
    restart_the_primary,
    show_what_no_standby_has,
    fail_over,
    fail_over_under_a_frozen_owner,
    freeze_the_primary,
    lose_connections,
    delay_connections,
    lose_the_mark,
    serve_an_old_copy,
    serve_a_copy_of_a_frozen_owner,
)
BY_NAME = {fault.__name__: fault for fault in FAULTS}
