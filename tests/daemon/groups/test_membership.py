"""What a member of a group does next; and many of them at once in a world where all goes wrong."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from littled.groups.membership import (
    Acquire,
    Acquired,
    Action,
    Announce,
    Ended,
    Event,
    Go,
    Leased,
    LeaseLost,
    Leave,
    Member,
    Phase,
    Publish,
    Published,
    Ready,
    Release,
    Seen,
    Start,
    StopDaemon,
    Tenure,
    rest_seconds,
    share,
    step,
)

SERVING, STARTING, STOPPING = Phase.SERVING, Phase.STARTING, Phase.STOPPING


def seen(
    tenures: dict[int, int] | None = None, fit: Iterable[str] = ("a",), now: float = 0
) -> Seen:
    """What etcd has where all is known that is served."""
    return Seen(now, frozenset(fit), tenures or {}, frozenset(tenures or {}))


def having(*phases: Phase, partitions: int = 4) -> Member:
    """A member `a` that has partitions 0, 1 and so on, got at the revisions 10, 11 and so on."""
    held = {p: Tenure(10 + p, phase) for p, phase in enumerate(phases)}
    return Member("a", partitions, leased=True, held=held)


def after(member: Member, *events: Event) -> tuple[Member, tuple[Action, ...]]:
    actions: tuple[Action, ...] = ()
    for event in events:
        member, actions = step(member, event)
    return member, actions


def acquired(actions: Iterable[Action]) -> set[int]:
    return {each.partition for each in actions if isinstance(each, Acquire)}


def test_a_share_is_rounded_up() -> None:
    assert [share(12, n) for n in (0, 1, 2, 3, 5)] == [12, 12, 6, 4, 3]


def test_who_is_alone_takes_all_once_it_has_a_lease() -> None:
    member = Member("a", 3)
    assert after(member, seen())[1] == ()
    member, actions = after(member, Leased())
    assert actions == (Announce(fit=True),)
    assert acquired(after(member, seen())[1]) == {0, 1, 2}


def test_nobody_takes_more_than_a_share_or_what_is_taken() -> None:
    member = having(SERVING)
    _, actions = after(member, seen({0: 10, 1: 5}, fit=("a", "b")))
    assert len(actions) == 1
    assert acquired(actions) <= {2, 3}
    assert after(having(SERVING, STOPPING), seen({0: 10, 1: 11}, fit=("a", "b")))[1] == ()


def test_members_seldom_want_the_same_first() -> None:
    first = [
        acquired(after(Member(n, 12, leased=True), seen(fit="abcdefghijkl"))[1]) for n in "abc"
    ]
    assert len(set().union(*first)) > 1


def test_what_is_above_the_share_is_given_up_one_at_a_time_and_let_go_when_it_has_ended() -> None:
    member, actions = after(having(*[SERVING] * 4), seen({p: 10 + p for p in range(4)}, fit="ab"))
    assert actions == (StopDaemon(3),)
    tenures = {p: 10 + p for p in range(4)}
    assert after(member, seen(tenures, fit="ab"))[1] == ()
    member, actions = after(member, Ended(3, 0, 5.0))
    assert actions == (Release(3, 13),)
    assert member.failures == {}
    del tenures[3]
    assert after(member, seen(tenures, fit="ab"))[1] == (StopDaemon(2),)


def test_what_serves_nobody_yet_is_given_up_first() -> None:
    member = having(STARTING, SERVING, SERVING)
    _, actions = after(member, seen({p: 10 + p for p in range(3)}, fit="ab"))
    assert actions == (StopDaemon(0),)


def test_what_was_got_is_started_and_published_under_its_number() -> None:
    member, actions = after(Member("a", 2, leased=True), Acquired(1, 7))
    assert actions == (Start(1),)
    member, actions = after(member, Ready(1))
    assert (actions, member.held[1].phase) == ((Publish(1, 7),), SERVING)
    assert after(member, Published(1, had=True))[1] == ()
    member, actions = after(member, Published(1, had=False))
    assert actions == (StopDaemon(1, hurried=True),)
    assert after(member, Ready(1))[1] == ()


def test_what_another_one_got_is_not_started() -> None:
    assert after(Member("a", 2, leased=True), Acquired(1, None))[1] == ()


@pytest.mark.parametrize("event", [LeaseLost(), Leave()])
def test_what_was_got_too_late_is_let_go(event: Event) -> None:
    assert after(Member("a", 2, leased=True), event, Acquired(1, 7))[1] == (Release(1, 7),)


def test_without_a_lease_every_daemon_is_stopped_in_a_hurry() -> None:
    member, actions = after(having(SERVING, STARTING, STOPPING), LeaseLost())
    assert actions == tuple(StopDaemon(p, hurried=True) for p in range(3))
    assert {each.phase for each in member.held.values()} == {STOPPING}
    assert acquired(after(member, seen())[1]) == set()
    # A daemon that has not ended yet is in nobody's way, and its partition is not taken again.
    member, _ = after(member, Leased())
    assert acquired(after(member, seen())[1]) == {3}
    member, actions = after(member, Ended(0, 3, 1.0))
    assert (actions, member.failures) == ((Release(0, 10),), {})


def test_what_another_one_has_by_now_is_stopped() -> None:
    member, actions = after(having(SERVING, SERVING), seen({0: 10, 1: 99}))
    assert StopDaemon(1, hurried=True) in actions
    assert member.held[0].phase is SERVING


def test_who_leaves_stops_all_and_goes_when_the_last_one_has_ended() -> None:
    member, actions = after(having(SERVING, STARTING), Leave())
    assert actions == (Announce(fit=False), StopDaemon(0), StopDaemon(1))
    member, actions = after(member, Ended(0, 0, 1.0))
    assert actions == (Release(0, 10),)
    assert after(member, seen({1: 11}))[1] == ()
    assert after(member, Ended(1, 0, 1.0))[1] == (Release(1, 11), Go())
    assert after(having(), Leave())[1] == (Go(),)


def test_what_failed_rests_here_and_longer_each_time() -> None:
    member, actions = after(having(SERVING, SERVING, partitions=2), Ended(0, 1, 100.0))
    assert actions == (Release(0, 10),)
    assert acquired(after(member, seen({1: 11}, now=100.9))[1]) == set()
    assert acquired(after(member, seen({1: 11}, now=101.0))[1]) == {0}
    member, _ = after(member, Acquired(0, 20), Ended(0, 1, 200.0))
    assert member.rests == {0: 202.0}
    member, _ = after(member, Acquired(0, 21), Ready(0))
    assert (member.rests, member.failures) == ({}, {})


def test_a_store_that_needs_attention_is_not_tried_again_at_once() -> None:
    assert [rest_seconds(1, n) for n in (1, 2, 7, 99)] == [1, 2, 30, 30]
    assert [rest_seconds(3, n) for n in (1, 2, 7, 99)] == [5, 10, 60, 60]


def test_who_can_serve_nothing_says_so_and_tries_one_until_it_can() -> None:
    member, actions = after(having(STARTING, STARTING), Ended(0, 2, 0.0))
    assert actions == (Release(0, 10), Announce(fit=False))
    assert after(member, Ended(1, 2, 0.0))[1] == (Release(1, 11),)
    member, _ = after(member, Ended(1, 2, 0.0))
    _, actions = after(member, seen(fit="b", now=9))
    assert len(acquired(actions)) == 1
    member, actions = after(member, Acquired(2, 30), Ready(2))
    assert actions == (Publish(2, 30), Announce(fit=True))
    assert len(acquired(after(member, seen({2: 30}, fit="ab", now=9))[1])) == 1


def test_one_damaged_store_makes_nobody_unfit() -> None:
    member, actions = after(having(SERVING, STARTING), Ended(1, 3, 0.0))
    assert (member.fit, actions) == (True, (Release(1, 11),))


def test_what_etcd_does_not_know_yet_is_said_again() -> None:
    member = having(SERVING, STARTING, SERVING, partitions=3)
    numbers = {0: 10, 1: 11, 2: 12}
    known = Seen(0, frozenset("a"), numbers, frozenset({0}))
    assert after(member, known)[1] == (Publish(2, 12),)
    missing = Seen(0, frozenset("b"), numbers, frozenset({0, 2}))
    assert after(having(SERVING, STARTING, partitions=3), missing)[1][0] == Announce(fit=True)


# --- many members ---------------------------------------------------------------------------------


@dataclass
class Node:
    """A member with its daemons, in the world below."""

    state: Member
    daemons: dict[int, str] = field(default_factory=dict)
    cut_off: bool = False
    gone: bool = False


@dataclass
class World:
    """etcd and some members; every action is carried out at once."""

    partitions: int
    nodes: dict[str, Node] = field(default_factory=dict)
    tenures: dict[int, tuple[str, int]] = field(default_factory=dict)
    fit: dict[str, bool] = field(default_factory=dict)
    published: set[int] = field(default_factory=set)
    paused: set[int] = field(default_factory=set)
    revision: int = 0
    now: float = 0.0

    def join(self) -> None:
        name = f"n{len(self.nodes)}"
        self.nodes[name] = Node(Member(name, self.partitions))
        self.tell(name, Leased())

    def tell(self, name: str, event: Event) -> None:
        node = self.nodes[name]
        if node.gone:
            return
        node.state, actions = step(node.state, event)
        for action in actions:
            answer = self.done(name, node, action)
            if answer is not None:
                self.tell(name, answer)

    def done(self, name: str, node: Node, action: Action) -> Event | None:
        self.revision += 1
        match action:
            case Announce(fit):
                self.fit[name] = fit
            case Acquire(p):
                assert p not in node.daemons, "two daemons of one partition at one member"
                assert p not in self.paused, "a partition is taken that is paused"
                alive = {n for n, fit in self.fit.items() if fit} | {name}
                most = share(self.partitions, len(alive)) if node.state.fit else 1
                assert len(node.state.held) < most, "more than a share"
                if p in self.tenures:
                    return Acquired(p, None)
                self.tenures[p] = (name, self.revision)
                return Acquired(p, self.revision)
            case Start(p):
                node.daemons[p] = "starting"
            case Publish(p, number):
                had = self.tenures.get(p) == (name, number)
                if had:
                    self.published.add(p)
                return Published(p, had)
            case StopDaemon(p):
                node.daemons[p] = "stopping"
            case Release(p, number):
                assert p not in node.daemons, "let go while its daemon runs"
                if self.tenures.get(p) == (name, number):
                    del self.tenures[p]
                    self.published.discard(p)
            case Go():
                assert not node.daemons
                node.gone = True
                self.expire(name)
        return None

    def expire(self, name: str) -> None:
        self.fit.pop(name, None)
        self.tenures = {p: t for p, t in self.tenures.items() if t[0] != name}
        self.published &= set(self.tenures)

    def poll(self, name: str) -> None:
        if self.nodes[name].cut_off:
            return
        fit = frozenset(n for n, able in self.fit.items() if able)
        numbers = {p: number for p, (_, number) in self.tenures.items()}
        now = self.now, fit, numbers, frozenset(self.published)
        self.tell(name, Seen(*now, self.partitions, frozenset(self.paused)))
        held = self.nodes[name].state.held
        assert {held[p].phase for p in self.paused & held.keys()} <= {STOPPING}, "none is paused"

    def daemons_go_on(self, name: str, status: int | None = None) -> None:
        """Those that start are ready, or end with a status; those that stop have ended."""
        node = self.nodes[name]
        for p, doing in list(node.daemons.items()):
            if doing == "stopping" or (doing == "starting" and status is not None):
                del node.daemons[p]
                self.tell(name, Ended(p, 0 if doing == "stopping" else status or 0, self.now))
            elif doing == "starting":
                node.daemons[p] = "serving"
                self.tell(name, Ready(p))

    def happen(self, what: str, name: str) -> None:
        self.now += 0.5
        node = self.nodes[name]
        if what == "poll":
            self.poll(name)
        elif what == "ready":
            self.daemons_go_on(name)
        elif what == "fail":
            self.daemons_go_on(name, 3)
        elif what == "join" and len(self.nodes) < 4:
            self.join()
        elif what == "add" and self.partitions < 9:
            self.partitions += 1
        elif what == "pause":
            self.paused.add(len(self.nodes) % self.partitions)
        elif what == "resume":
            self.paused.clear()
        elif what == "leave":
            self.tell(name, Leave())
        elif what == "kill":
            node.gone, node.daemons = True, {}
            self.expire(name)
        elif what == "cut off" and not node.gone:
            node.cut_off = True
            self.expire(name)  # etcd has ended its lease, and it does not know
        elif what == "back" and node.cut_off:
            node.cut_off = False
            self.tell(name, LeaseLost())
            assert set(node.daemons.values()) <= {"stopping"}, "a daemon goes on without a lease"
            self.tell(name, Leased())


THINGS = [
    *("poll", "poll", "ready", "fail", "join", "leave", "kill", "cut off", "back"),
    *("add", "pause", "resume"),
]


@settings(max_examples=200)
@given(
    st.integers(1, 7),
    st.lists(st.tuples(st.sampled_from(THINGS), st.integers(0, 3)), max_size=60),
)
def test_after_whatever_happened_each_partition_is_served_once_and_fairly(
    partitions: int, script: list[tuple[str, int]]
) -> None:
    world = World(partitions)
    world.join()
    world.join()
    for what, number in script:
        world.happen(what, f"n{number % len(world.nodes)}")
    world.paused.clear()
    for name in list(world.nodes):
        world.happen("back", name)
    world.join()
    partitions = world.partitions
    for _ in range(8 + 4 * partitions):
        world.now += 400
        for name in list(world.nodes):
            world.poll(name)
            world.daemons_go_on(name)
    alive = {name: node for name, node in world.nodes.items() if not node.gone}
    leaving = {name for name, node in alive.items() if node.state.leaving}
    assert leaving == set()
    serving = [p for node in alive.values() for p, doing in node.daemons.items()]
    assert sorted(serving) == list(range(partitions))
    assert max(len(node.daemons) for node in alive.values()) <= share(partitions, len(alive))
    for node in alive.values():
        assert {t.phase for t in node.state.held.values()} <= {SERVING}


def test_a_member_that_cannot_serve_does_not_hold_up_the_others() -> None:
    world = World(6)
    world.join()
    world.join()
    for _ in range(40):
        world.now += 400
        world.poll("n0")
        world.poll("n1")
        world.daemons_go_on("n0", 2)
        world.daemons_go_on("n1")
    assert world.fit == {"n0": False, "n1": True}
    assert len(world.nodes["n1"].daemons) >= 5
    assert replace(world.nodes["n1"].state).fit
