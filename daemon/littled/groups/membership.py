"""What a member of a group does next: a pure function of what it knows and what has happened.

A member takes no more partitions than its fair share, one divided by those who can serve; gives up
what is above it, one at a time; and lets a partition go before anybody else takes it, unless it is
cut off. A partition whose daemon failed here rests here for a while, so that others may try. A
member whose daemons all fail says so, and is no longer counted: the others then take its share.

None of this decides what may be shown. If two members believe that they have a partition, the store
and its mark let one of them go on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from hashlib import blake2b
from typing import TypeAlias

REST_SECONDS = 1.0
REST_SECONDS_MAX = 30.0
# A store that needs attention, or that somebody else serves, is not tried again at once; but it is,
# as this is also how a daemon ends whose database is away for a while.
ATTENTION_REST_SECONDS = 5.0
ATTENTION_REST_SECONDS_MAX = 60.0
NEEDS_ATTENTION = 3
_DOUBLINGS_MAX = 16


class Phase(Enum):
    """How far the daemon of a partition has come."""

    STARTING = "starting"
    SERVING = "serving"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class Tenure:
    """A partition that a member has. number: etcd's revision at which it got it; only grows."""

    number: int
    phase: Phase


@dataclass(frozen=True, slots=True)
class Member:
    """What a member knows.

    leased: whether its lease runs. leaving: whether it was told to stop. fit: whether its daemons
    run, as far as is known. failures: by partition, how often in a row a daemon of it has failed
    here. rests: by partition, until when it is not taken here, in seconds of the clock of `Seen`.
    """

    name: str
    partitions: int
    leased: bool = False
    leaving: bool = False
    fit: bool = True
    held: Mapping[int, Tenure] = field(default_factory=dict)
    failures: Mapping[int, int] = field(default_factory=dict)
    rests: Mapping[int, float] = field(default_factory=dict)


# --- what happens ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Seen:
    """What etcd has.

    fit: members that say that they can serve. tenures: the number of each partition taken.
    published: partitions of which it says where they are served. partitions: how many there are, 0
    for as many as before; it never falls. paused: those that nobody is to serve for a moment.
    """

    now: float
    fit: frozenset[str]
    tenures: Mapping[int, int]
    published: frozenset[int]
    partitions: int = 0
    paused: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Leased:
    """A new lease was had."""


@dataclass(frozen=True, slots=True)
class LeaseLost:
    """The lease has ended, or could not be renewed in its time: others may have taken all."""


@dataclass(frozen=True, slots=True)
class Acquired:
    """An answer to `Acquire`; None where another one was quicker."""

    partition: int
    number: int | None


@dataclass(frozen=True, slots=True)
class Ready:
    """The daemon of a partition serves."""

    partition: int


@dataclass(frozen=True, slots=True)
class Published:
    """An answer to `Publish`. had: whether this member still had the partition."""

    partition: int
    had: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """The daemon of a partition has ended with this exit status."""

    partition: int
    status: int
    now: float


@dataclass(frozen=True, slots=True)
class Leave:
    """The member is told to stop."""


Event: TypeAlias = Seen | Leased | LeaseLost | Acquired | Ready | Published | Ended | Leave


# --- what is done ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Announce:
    """Say in etcd that this member lives, and whether it can serve."""

    fit: bool


@dataclass(frozen=True, slots=True)
class Acquire:
    """Take a partition, if nobody has it."""

    partition: int


@dataclass(frozen=True, slots=True)
class Start:
    """Start a daemon."""

    partition: int


@dataclass(frozen=True, slots=True)
class Publish:
    """Say in etcd where a partition is served, if this member still has it."""

    partition: int
    number: int


@dataclass(frozen=True, slots=True)
class StopDaemon:
    """Stop a daemon; hurried: another one may serve the partition already."""

    partition: int
    hurried: bool = False


@dataclass(frozen=True, slots=True)
class Release:
    """Let others take a partition."""

    partition: int
    number: int


@dataclass(frozen=True, slots=True)
class Go:
    """End: nothing is served any more."""


Action: TypeAlias = Announce | Acquire | Start | Publish | StopDaemon | Release | Go


# --- the step -------------------------------------------------------------------------------------


def step(member: Member, event: Event) -> tuple[Member, tuple[Action, ...]]:
    """What a member knows after an event, and what it does, in this order."""
    actions: tuple[Action, ...] = ()
    match event:
        case Seen():
            member, actions = _seen(member, event)
        case Leased():
            member, actions = replace(member, leased=True), (Announce(member.fit),)
        case LeaseLost():
            # Whatever failed, failed perhaps because others had taken over.
            member, actions = _stopped(member, list(member.held), hurried=True)
            member = replace(member, leased=False, fit=True, failures={}, rests={})
        case Acquired():
            member, actions = _acquired(member, event)
        case Ready():
            member, actions = _ready(member, event.partition)
        case Published():
            if not event.had and event.partition in member.held:
                member, actions = _stopped(member, [event.partition], hurried=True)
        case Ended():
            member, actions = _ended(member, event)
        case Leave():
            # The others need not wait for its end to take its share.
            said = (Announce(fit=False),) if member.leased else ()
            member = replace(member, leaving=True, fit=False)
            member, actions = _stopped(member, list(member.held))
            actions = (*said, *actions) if member.held else (Go(),)
    return member, actions


def share(partitions: int, members: int) -> int:
    """How many partitions a member takes at the most, where so many can serve."""
    return -(-partitions // max(members, 1))


def _seen(member: Member, seen: Seen) -> tuple[Member, tuple[Action, ...]]:
    lost = [p for p, tenure in member.held.items() if seen.tenures.get(p) != tenure.number]
    member, actions = _stopped(member, lost, hurried=True)
    member = replace(member, partitions=max(member.partitions, seen.partitions))
    if not member.leased or member.leaving:
        return member, actions
    member, more = _stopped(member, [p for p in member.held if p in seen.paused])
    actions += more
    # What could not be said when it happened.
    if (member.name in seen.fit) != member.fit:
        actions += (Announce(member.fit),)
    actions += tuple(
        Publish(p, tenure.number)
        for p, tenure in member.held.items()
        if tenure.phase is Phase.SERVING and p not in seen.published
    )
    able = len(seen.fit | {member.name})
    # Who cannot serve tries one, to see whether it can again.
    most = share(member.partitions, able) if member.fit else 1
    stopping = [p for p, tenure in member.held.items() if tenure.phase is Phase.STOPPING]
    kept = [p for p in member.held if p not in stopping]
    if len(kept) > most:
        if stopping:
            return member, actions
        # First what serves nobody yet, then what came last.
        last = max(kept, key=lambda p: (member.held[p].phase is Phase.STARTING,
                                        member.held[p].number, p))  # fmt: skip
        member, more = _stopped(member, [last])
        return member, actions + more
    free = [
        p
        for p in range(member.partitions)
        if p not in member.held
        and p not in seen.tenures
        and p not in seen.paused
        and member.rests.get(p, 0) <= seen.now
    ]
    free.sort(key=lambda p: _preference(member.name, p))
    wanted = free[: max(most - len(member.held), 0)]
    return member, (*actions, *(Acquire(p) for p in wanted))


def _preference(name: str, partition: int) -> bytes:
    """An order of its own for each member, so that they seldom want the same at once."""
    return blake2b(f"{name}/{partition}".encode(), digest_size=8).digest()


def _acquired(member: Member, event: Acquired) -> tuple[Member, tuple[Action, ...]]:
    if event.number is None:
        return member, ()
    if not member.leased or member.leaving:
        return member, (Release(event.partition, event.number),)
    tenure = Tenure(event.number, Phase.STARTING)
    return replace(member, held={**member.held, event.partition: tenure}), (Start(event.partition),)


def _ready(member: Member, partition: int) -> tuple[Member, tuple[Action, ...]]:
    tenure = member.held.get(partition)
    if tenure is None or tenure.phase is not Phase.STARTING:
        return member, ()
    held = {**member.held, partition: replace(tenure, phase=Phase.SERVING)}
    failures = {p: count for p, count in member.failures.items() if p != partition}
    rests = {p: until for p, until in member.rests.items() if p != partition}
    said = () if member.fit else (Announce(fit=True),)
    member = replace(member, held=held, failures=failures, rests=rests, fit=True)
    return member, (Publish(partition, tenure.number), *said)


def _ended(member: Member, event: Ended) -> tuple[Member, tuple[Action, ...]]:
    p = event.partition
    tenure = member.held.get(p)
    if tenure is None:
        return member, ()
    held = {other: kept for other, kept in member.held.items() if other != p}
    actions: tuple[Action, ...] = (Release(p, tenure.number),)
    member = replace(member, held=held)
    if tenure.phase is not Phase.STOPPING:
        count = member.failures.get(p, 0) + 1
        rest = rest_seconds(event.status, count)
        member = replace(
            member,
            failures={**member.failures, p: count},
            rests={**member.rests, p: event.now + rest},
        )
        if member.fit and not any(each.phase is Phase.SERVING for each in held.values()):
            member = replace(member, fit=False)
            actions += (Announce(fit=False),) if member.leased else ()
    if member.leaving and not held:
        actions += (Go(),)
    return member, actions


def rest_seconds(status: int, count: int) -> float:
    """How long a partition is left alone whose daemon has ended so for the `count`-th time."""
    first, most = (
        (ATTENTION_REST_SECONDS, ATTENTION_REST_SECONDS_MAX)
        if status == NEEDS_ATTENTION
        else (REST_SECONDS, REST_SECONDS_MAX)
    )
    return min(first * (1 << min(count - 1, _DOUBLINGS_MAX)), most)


def _stopped(
    member: Member, partitions: list[int], *, hurried: bool = False
) -> tuple[Member, tuple[Action, ...]]:
    """Stop daemons that are not being stopped yet; those that are may be hurried."""
    held, actions = dict(member.held), []
    for p in partitions:
        if held[p].phase is not Phase.STOPPING or hurried:
            actions.append(StopDaemon(p, hurried))
        held[p] = replace(held[p], phase=Phase.STOPPING)
    return replace(member, held=held), tuple(actions)
