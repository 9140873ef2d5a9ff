"""Selection on a path: what it draws from, publishes, remembers and costs."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from littled.budget.events import PrepaidSelection, SparseSelection
from littled.classes.names import class_from_name
from littled.learners.contract import SeasonOpened
from littled.learners.online import OnlineLearner, OnlineState
from littled.learners.online.parameters import OnlineParameters
from littled.learners.online.path_memory import (
    INHERITED,
    ON_PATH,
    SEARCHING,
    PathMemory,
    PathSettings,
    value_of,
)
from littled.learners.online.selections.path import Path
from littled.learners.online.values import EpochSettings
from littled.learners.snapshot import pack
from littled.mechanisms.exponential import ExponentialMechanism
from littled.mechanisms.sparse_sample import SparseSample
from littled_protocol.rules import PrefixRule
from support.learning import Runner, column, equal, run
from support.tape import TapeNoise

ADDRESS = 0x20010DB8_00000000_00000000_00000001
LONG = class_from_name("prefixes:128")
PATH = OnlineParameters(
    epsilon=Fraction(1), horizon=10_000, noise_rate=Fraction(0), trigger_rate=Fraction(2, 5),
    trigger_threshold=88, selection="path", selection_rate=Fraction(3, 10),
    selection_accounting="pure", draws=1, calls_max=40, buffer="both", background_max=512,
    list_cap=129, bottom_score=64, fresh=True,
    ladder=(EpochSettings(40), EpochSettings(176), EpochSettings(352)),
    memory=PathSettings(conviction=12, floor=26, bit=2, longer=16, full_length=160),
)  # fmt: skip
# No noise is left of such rates: the trigger fires at U exactly, the best candidate always wins.
CERTAIN = replace(
    PATH, trigger_rate=Fraction(80), selection_rate=Fraction(80), trigger_threshold=6,
    bottom_score=4, ladder=(EpochSettings(3), EpochSettings(8)),
)  # fmt: skip


def rule_of(state: OnlineState) -> PrefixRule:
    assert isinstance(state.rule, PrefixRule)
    return state.rule


def memory_of(state: OnlineState) -> PathMemory:
    assert isinstance(state.memory, PathMemory)
    return state.memory


def fed(runner: Runner, values: list[int], label: int, first: int) -> int:
    """Feed a record; the position behind it."""
    x = column(runner.learner.hypotheses, values)
    list(runner.feed(x, np.full(len(x), label, dtype=np.uint8), first))
    return first + len(x)


def opened(parameters: OnlineParameters, hypotheses: Any = LONG, seed: int = 1) -> Runner:
    runner = Runner(OnlineLearner("s/l", hypotheses, parameters), TapeNoise(seed))
    runner.open()
    return runner


def stream(seed: int, count: int, length: int, bits: int = 128) -> Any:
    """One address of the block of this length, and neighbours that differ in one bit."""
    rng = np.random.default_rng(seed)
    flipped = rng.integers(0, bits + 1, count)  # the last one stands for none
    address = ADDRESS % (1 << bits)
    values = [address ^ (1 << (bits - 1 - bit) if bit < bits else 0) for bit in flipped.tolist()]
    return values, (flipped >= length).astype(np.uint8)


# --- learning -------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 32, 64, 127, 128])
def test_a_block_of_any_length_is_found(length: int) -> None:
    values, y = stream(length, 6000, length)
    state, _, _ = run(
        OnlineLearner("s/l", LONG, PATH), column(LONG, values), y, TapeNoise(3), range(0, 6000, 99)
    )
    wrong = int((state.rule.evaluate(column(LONG, values)) != y).sum())
    assert wrong <= 200  # too few for one more call
    assert state.calls < 30


def test_a_stream_that_says_negatives_only_once_it_has_begun_is_learned() -> None:
    """Longer blocks are looked for with the address that is known, not with that of one example."""
    values, labels = stream(1, 8000, 128)
    values = [ADDRESS] * 100 + [value for value in values if value != ADDRESS]
    y = np.zeros(len(values), dtype=labels.dtype)
    y[:100] = 1
    state, out, _ = run(OnlineLearner("s/l", LONG, PATH), column(LONG, values), y, TapeNoise(2), [])
    assert state.calls < 12
    assert out[-1].position < 3000


# --- phases ---------------------------------------------------------------------------------------


def test_only_the_first_bits_of_an_address_are_remembered() -> None:
    """Mistakes that agree on 8 bits: of the addresses behind them the memory knows nothing."""
    runner = opened(CERTAIN, class_from_name("prefixes:16"))
    fed(runner, [0xAB00 + low * 37 for low in range(6)], 1, 0)
    memory, rule = memory_of(runner.state), rule_of(runner.state)
    assert (memory.mode, value_of(memory.value)) == (ON_PATH, rule.value)
    assert rule.value == 0xAB >> (8 - memory.length)
    assert rule.length == memory.length


def test_a_rule_that_was_inherited_gives_way_to_the_constant_0_without_a_draw() -> None:
    runner = opened(CERTAIN)
    end = fed(runner, [ADDRESS] * 6, 1, 0)
    assert rule_of(runner.state).length is not None
    step = runner.learner.step(runner.state, SeasonOpened(1, end), runner.noise)
    runner.state = step.state
    assert memory_of(runner.state) == PathMemory(INHERITED)
    assert Path(CERTAIN).settings(runner.state) == EpochSettings(3)
    noise = runner.noise
    assert isinstance(noise, TapeNoise)
    noise.requests.clear()
    fed(runner, [ADDRESS] * 3, 0, end)
    assert runner.state.rule == LONG.first_rule()
    assert memory_of(runner.state) == PathMemory(SEARCHING)
    assert {purpose for _, purpose, _, _ in noise.requests} == {
        "trigger", "trigger-threshold", "buffer"
    }  # fmt: skip


def test_a_season_that_begins_with_the_constant_0_searches() -> None:
    runner = opened(CERTAIN)
    step = runner.learner.step(runner.state, SeasonOpened(1, 0), runner.noise)
    assert memory_of(step.state) == PathMemory(SEARCHING)


@pytest.mark.parametrize(
    ("memory", "settings"),
    [
        (PathMemory(SEARCHING), 88), (PathMemory(SEARCHING, bottoms=1), 176),
        (PathMemory(SEARCHING, bottoms=2), 352), (PathMemory(SEARCHING, bottoms=9), 352),
        (PathMemory(ON_PATH, bottoms=0, length=1, offsets=(0, 0, 0)), 40),
        (PathMemory(INHERITED), 40),
    ],
)  # fmt: skip
def test_thresholds_are_those_of_the_phase(memory: PathMemory, settings: int) -> None:
    state = OnlineState(LONG.first_rule(), memory=memory, calls=7, kept=3)
    assert Path(PATH).settings(state) == EpochSettings(settings)
    alone = replace(PATH, ladder=PATH.ladder[:1])
    expected = 88 if memory.mode == SEARCHING else 40
    assert Path(alone).settings(state) == EpochSettings(expected)


def test_a_bottom_keeps_the_rule_and_raises_the_threshold() -> None:
    runner = opened(CERTAIN)
    values = [ADDRESS ^ (number << 120) for number in range(6)]
    # each of them vetoes all blocks around a positive example but that of its address alone
    end = fed(runner, [value ^ 1 for value in values], 0, 0)
    fed(runner, values, 1, end)
    assert memory_of(runner.state) == PathMemory(SEARCHING, bottoms=1)
    assert runner.state.rule == LONG.first_rule()
    assert runner.state.calls == 1
    assert Path(CERTAIN).settings(runner.state) == EpochSettings(8)


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of draws that are made, in their order."""
    made: list[str] = []

    def noted(name: str, kind: str) -> None:
        draw = getattr(Path, name)

        def noting(self: Any, *given: Any) -> Any:
            made.append(kind)
            return draw(self, *given)

        monkeypatch.setattr(Path, name, noting)

    noted("_drawn", "blocks")
    noted("_moved", "sides")
    return made


def on_path(full_length: int, *, longer: int = 0, elsewhere: int = 0, **changes: Any) -> Runner:
    """A runner that publishes the block 10101 of three addresses of 16 bits.

    All lengths are nearly as likely, so that a median is seen.
    """
    memory = PathSettings(
        conviction=12, floor=26, bit=0, longer=longer, full_length=full_length, elsewhere=elsewhere
    )
    runner = opened(replace(CERTAIN, memory=memory, **changes), class_from_name("prefixes:16"))
    known = PathMemory(ON_PATH, length=5, value=(0, 0b10101), offsets=(0,) * 7)
    rule = PrefixRule(bits=16, value=0b10101, length=5)
    runner.state = replace(runner.state, rule=rule, memory=known)
    return runner


@pytest.mark.parametrize(
    ("label", "moved"),
    [
        # the right block is a smaller one: of all that is left the most likely one is beyond
        (0, PathMemory(SEARCHING, shortest=6)),
        # it is a larger one: the middle of the lengths 0 to 4
        (1, PathMemory(ON_PATH, length=5, value=(0, 0b10101), offsets=(0,) * 5 + (-12, -12))),
    ],
)
def test_a_short_epoch_moves_by_the_side_of_most_mistakes(
    label: int, moved: PathMemory, draws: list[str]
) -> None:
    runner = on_path(3)
    inside, outside = 0b10101 << 11, 0b10111 << 11
    # examples on which the rule is right are no mistakes, and say nothing of a side
    fed(runner, [outside if label else inside] * 3, label, 0)
    assert draws == ["sides"]
    assert memory_of(runner.state) == moved
    expected = (2, 0b10) if label else (None, 0)
    assert (rule_of(runner.state).length, rule_of(runner.state).value) == expected


def test_only_mistakes_of_the_published_block_are_of_a_side() -> None:
    """Many positives inside and negatives outside are kept as well, and count for none."""
    runner = on_path(60)
    inside, outside = 0b10101 << 11, 0b10111 << 11
    end = fed(runner, [inside + low for low in range(30)], 1, 0)
    end = fed(runner, [outside + low for low in range(20)], 0, end)
    fed(runner, [inside] * 3, 0, end)
    assert memory_of(runner.state) == PathMemory(SEARCHING, shortest=6)


def test_a_long_epoch_proposes_blocks_of_all_lengths(draws: list[str]) -> None:
    """The first epoch, of four examples, is short: of up to `full_length`; one of five is long."""
    other = 0b01 << 14
    for count, kind in ((1, "sides"), (2, "blocks")):
        draws.clear()
        runner = on_path(4)
        end = fed(runner, [0b10101 << 11] * count, 1, 0)
        fed(runner, [other] * 3, 1, end)
        assert draws == [kind]
    memory = memory_of(runner.state)
    assert memory.mode == ON_PATH
    assert rule_of(runner.state).evaluate(column(runner.learner.hypotheses, [other])).all()
    assert value_of(memory.value) == rule_of(runner.state).value


INSIDE, OUTSIDE = 0b10101 << 11, 0b01 << 14


@pytest.mark.parametrize(
    ("inside", "outside", "told"),
    [
        # false positives, and false negatives
        (6, 0, "longer"), (5, 1, "longer"), (0, 6, "shorter"), (1, 5, "shorter"),
        # others explain all mistakes but two
        (3, 3, "elsewhere"),
    ],
)  # fmt: skip
def test_a_short_epoch_with_mistakes_of_both_kinds_leaves_the_path(
    inside: int, outside: int, told: str, draws: list[str]
) -> None:
    runner = on_path(9, longer=1, elsewhere=2, ladder=(EpochSettings(6),))
    end = fed(runner, [INSIDE] * inside, 0, 0)
    fed(runner, [OUTSIDE] * outside, 1, end)
    assert draws == ["sides"]
    memory = memory_of(runner.state)
    if told == "elsewhere":
        assert memory == PathMemory(SEARCHING, length=5, value=(0, 0b10101), offsets=(0,) * 7)
        assert runner.state.rule == runner.learner.hypotheses.first_rule()
    elif told == "longer":
        assert memory == PathMemory(SEARCHING, shortest=6)
    else:
        assert memory.offsets == (0,) * 5 + (-12, -12)


def test_a_long_epoch_that_began_before_a_jump_leaves_the_path(draws: list[str]) -> None:
    """The published block was right of many examples, and explains those of before still."""
    runner = on_path(9, longer=1, elsewhere=2, ladder=(EpochSettings(8),), background_max=64)
    end = fed(runner, [INSIDE + low for low in range(40)], 1, 0)
    end = fed(runner, [INSIDE] * 4, 0, end)
    fed(runner, [OUTSIDE] * 4, 1, end)
    assert draws == ["blocks"]
    left = PathMemory(SEARCHING, length=5, value=(0, 0b10101), offsets=(0,) * 7)
    assert memory_of(runner.state) == left
    # the next block is found elsewhere, and nothing is left of the path
    fed(runner, [OUTSIDE] * 6, 1, end + 4)
    assert rule_of(runner.state).evaluate(column(runner.learner.hypotheses, [OUTSIDE])).all()
    assert value_of(memory_of(runner.state).value) >> memory_of(runner.state).length - 1 == 0


@pytest.mark.parametrize("label", [0, 1])
def test_a_long_epoch_that_no_block_explains_moves_by_its_mistakes(
    label: int, draws: list[str]
) -> None:
    """A target that moved to the block's other half, say: one side explains it better than any."""
    runner = on_path(9, longer=1, elsewhere=2, ladder=(EpochSettings(8),), background_max=64)
    # of the block only its last address was right, and of all other blocks many more are wrong
    end = fed(runner, [INSIDE + low for low in range(40)], 1, 0)
    end = fed(runner, [0b10111 << 11] * 30, 0, end)
    fed(runner, [INSIDE + low for low in range(8)] if not label else [OUTSIDE] * 8, label, end)
    assert draws == ["blocks"]
    memory = memory_of(runner.state)
    if label:
        assert memory.offsets == (0,) * 5 + (-12, -12)
    else:
        assert memory == PathMemory(SEARCHING, shortest=6)


def test_what_is_proposed_has_the_offset_of_its_length() -> None:
    """The block of a length that is not convicted is drawn before others with as many examples."""
    for length in range(6):
        runner = on_path(2, bottom_score=2)
        offsets = [-12] * 7
        offsets[length] = 0
        known = memory_of(runner.state)
        runner.state = replace(runner.state, memory=replace(known, offsets=tuple(offsets)))
        fed(runner, [0b01 << 14] * 3, 1, 0)  # bottom has more than what has 12 less
        assert rule_of(runner.state).length == length


def test_after_a_bottom_on_a_path_the_next_call_moves(draws: list[str]) -> None:
    """However long its epoch is; and then long epochs propose again."""
    runner = on_path(2, bottom_score=20)
    known, rule = memory_of(runner.state), runner.state.rule
    end = fed(runner, [0b01 << 14] * 3, 1, 0)
    assert draws == ["blocks"]
    assert memory_of(runner.state) == replace(known, bottoms=1)
    assert runner.state.rule == rule
    assert Path(CERTAIN).settings(runner.state) == EpochSettings(3)
    end = fed(runner, [0b01 << 14] * 3, 1, end)
    assert draws == ["blocks", "sides"]
    moved = memory_of(runner.state)
    assert (moved.mode, moved.bottoms, moved.offsets) == (ON_PATH, 0, (0,) * 5 + (-12, -12))
    fed(runner, [0b01 << 14] * 3, 1, end)
    assert draws == ["blocks", "sides", "blocks"]


def test_examples_before_a_bottom_are_forgotten() -> None:
    """Three false positives, which the bottom saw, and then three false negatives."""
    runner = on_path(2, bottom_score=20)
    end = fed(runner, [0b10101 << 11] * 3, 0, 0)
    assert memory_of(runner.state).bottoms == 1
    fed(runner, [0b01 << 14] * 3, 1, end)
    assert memory_of(runner.state).offsets == (0,) * 5 + (-12, -12)


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", range(4))
def test_what_is_remembered_fits_what_is_published(seed: int) -> None:
    """After every call: no bits beyond the length, an ancestor, and no offset above 0."""
    sixteen = class_from_name("prefixes:16")
    parameters = replace(
        PATH, trigger_rate=Fraction(3), selection_rate=Fraction(2), trigger_threshold=4,
        bottom_score=3, list_cap=17, ladder=(EpochSettings(2), EpochSettings(6)), calls_max=500,
        memory=PathSettings(conviction=2, floor=4, bit=1, longer=1, full_length=6),
    )  # fmt: skip
    modes, lengths = set[int](), set[int]()
    values, y = stream(seed, 1200, 5, 16)
    y[np.random.default_rng(seed).random(len(y)) < 0.3] ^= 1
    runner, x = opened(parameters, sixteen, seed), column(sixteen, values)
    for at in range(len(y)):
        list(runner.feed(x[at : at + 1], y[at : at + 1], at))
        memory, rule = memory_of(runner.state), rule_of(runner.state)
        modes.add(memory.mode)
        if memory.mode != ON_PATH:
            assert (rule.length, memory.value, memory.offsets) == (None, (0, 0), ())
            continue
        value = value_of(memory.value)
        lengths.add(memory.length)
        assert value < 1 << memory.length
        assert rule.length is not None
        assert rule.length <= memory.length
        assert rule.value == value >> (memory.length - rule.length)
        assert len(memory.offsets) == memory.length + 2
        assert max(memory.offsets) == 0
        assert min(memory.offsets) >= -4
    assert modes == {SEARCHING, ON_PATH}
    assert len(lengths) > 2


def course_of(learner: OnlineLearner, x: Any, y: Any, seed: int) -> list[tuple[Any, bytes]]:
    """What is drawn and released at each call, and the memory then."""
    drawn: list[Any] = []
    found: list[tuple[Any, bytes]] = []

    def noted(name: str) -> Any:
        draw = getattr(Path, name)

        def noting(self: Any, scores: Any, *given: Any) -> Any:
            drawn.append(draw(self, scores, *given))
            return drawn[-1]

        return noting

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "_moved", noted("_moved"))
        runner = Runner(learner, TapeNoise(seed))
        runner.open()
        for at in range(len(y)):
            found.extend(
                ((repr(effect), *drawn), pack(memory_of(runner.state).to_dict()))
                for effect in runner.feed(x[at : at + 1], y[at : at + 1], at)
            )
    return found


@pytest.mark.long
def test_neighbours_that_say_the_same_remember_the_same() -> None:
    """Byte for byte, after every release; medians hide sides, which are paid for and compared."""
    sixteen, same = class_from_name("prefixes:16"), 0
    parameters = replace(
        PATH, trigger_rate=Fraction(3), selection_rate=Fraction(2), trigger_threshold=4,
        bottom_score=3, list_cap=17, background_max=6, ladder=(EpochSettings(2), EpochSettings(6)),
        memory=PathSettings(conviction=2, floor=4, bit=1, longer=1, full_length=6),
    )  # fmt: skip
    learner = OnlineLearner("s/l", sixteen, parameters)
    for seed in range(60):
        values, y = stream(seed, 80, 5, 16)
        x, other = column(sixteen, values), y.copy()
        other[np.random.default_rng(seed).integers(80)] ^= 1
        runs = [course_of(learner, x, labels, seed) for labels in (y, other)]
        for (said, memory), (said_there, memory_there) in zip(*runs, strict=False):
            if said != said_there:
                break
            assert memory == memory_there
            same += 1
    assert same > 100


# --- batches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_batches_and_snapshots_change_nothing(seed: int) -> None:
    values, y = stream(seed, 1500, 40)
    x = column(LONG, values)
    learner = OnlineLearner("s/l", LONG, PATH)
    whole, out, _ = run(learner, x, y, TapeNoise(seed), [])
    cut, parts, _ = run(learner, x, y, TapeNoise(seed), range(0, 1500, 7))
    assert out == parts
    assert equal(learner.settled(whole), learner.settled(cut))
    assert learner.state_from_dict(learner.state_to_dict(whole)).memory == whole.memory


# --- what it goes with ----------------------------------------------------------------------------


def test_a_season_is_charged_one_sparse_selection() -> None:
    learner = OnlineLearner("s/l", LONG, PATH)
    events = learner.season_events()
    assert [type(event).__name__ for event in events] == [
        "TriggerSeason", "SparseSelection", "PrecisionLoss"
    ]  # fmt: skip
    assert events[1] == SparseSelection(
        rate=Fraction(3, 10), list_cap=129, bottom_score=64, draws=1, accounting="pure",
        user_examples_max=0, epochs=1,
    )  # fmt: skip
    assert learner.call_event() == PrepaidSelection(draws=1)


def test_the_loss_of_precision_is_that_of_what_is_proposed() -> None:
    """A draw between two sides has no more candidates than one proposed block and bottom."""
    few = replace(PATH, horizon=1, list_cap=2, calls_max=1)
    assert Path(few).precision_error(LONG) == SparseSample(
        few.selection_rate, list_cap=2, bottom_score=64
    ).total_variation(2)
    sides = ExponentialMechanism(few.selection_rate).total_variation(2)
    assert sides <= Path(few).precision_error(LONG)


def test_sides_beside_what_is_proposed_add_to_the_loss_of_precision() -> None:
    assert isinstance(PATH.memory, PathSettings)
    memory = replace(PATH.memory, elsewhere=17)
    few = replace(PATH, horizon=1, list_cap=2, calls_max=1, memory=memory)
    assert Path(few).precision_error(LONG) == SparseSample(
        few.selection_rate, list_cap=2, bottom_score=64
    ).total_variation(2 + 3)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"fresh": False}, "path selection is fresh, with one draw, and keeps both"),
        ({"draws": 3}, "with one draw"),
        ({"buffer": "mistakes"}, "keeps both"),
        ({"noise_rate": Fraction(1, 10)}, "a noise_rate of 0"),
        ({"teachers": 3}, "path selection has no teachers"),
        ({"memory": None}, "needs a memory with the settings of path selection"),
        ({"memory": PathSettings(0, 1, 1, 1, 1)}, "conviction and floor"),
        ({"ladder": ()}, "a threshold for blocks"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(changes: dict[str, Any], said: str) -> None:
    assert OnlineParameters.from_dict(PATH.to_dict()) == PATH
    with pytest.raises(ValueError, match=said):
        replace(PATH, **changes)


@pytest.mark.parametrize(
    ("of_class", "changes", "said"),
    [
        ("thresholds:8", {}, "the rules of thresholds:8 are no blocks"),
        ("points:8", {}, "are no blocks"),
        ("prefixes:128", {"list_cap": 128}, "proposes up to 129 rules, more than list_cap 128"),
    ],
)
def test_classes_that_do_not_fit_are_refused(
    of_class: str, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        OnlineLearner("s/l", class_from_name(of_class), replace(PATH, **changes))
