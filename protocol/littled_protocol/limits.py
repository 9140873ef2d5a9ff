"""Every limit and every wait that both sides share, by name, with its unit and its reason.

Names end in their unit or in what they count; `_max` and `_min` come last. A peer may rely on these
values: raising one is compatible, lowering one is not. Relations between them are checked on
import.
"""

from __future__ import annotations

from typing import Final

# --- Frames ---------------------------------------------------------------------------------------

# Length of the big-endian number of payload bytes that begins every frame.
frame_prefix_bytes: Final = 4
# Whole frame, prefix included. A batch of 65,536 examples of 8 bytes each fits; a receiver never
# buffers more than this and one read.
frame_bytes_max: Final = 1024 * 1024
# Least value of Welcome.frame_bytes_max, so that every message but a batch always fits.
frame_bytes_max_min: Final = 4096
# Whole first frame: Hello with the longest agent and token. All that an unknown peer may
# make us decode.
first_frame_bytes_max: Final = 1024
# Maps and lists inside one another, the frame's own map included. A status needs 6 (frame, body,
# streams, stream, learners, learner), a majority of point sets 5; the codec recurses this deep.
frame_depth_max: Final = 8
# Maps and lists in one frame; each costs a decoder some 60 bytes or more, whatever it holds.
frame_containers_max: Final = 4096 + 64
# Values in one frame, map keys included; bounds the time of a scan to a few milliseconds.
frame_elements_max: Final = 131_072
# Maps in one frame to a server, the frame's own map included: no message to it has one inside, and
# each costs as much to decode as a dozen other values.
frame_maps_to_server_max: Final = 16
# Keys of one map; a status names every stream and learner in maps.
map_keys_max: Final = 1024

# --- Examples -------------------------------------------------------------------------------------

# Examples of one frame; larger batches gain no speed and delay everybody else's.
examples_per_frame_max: Final = 65_536
# Values of any list, so also examples of a frame with plain lists, which cost 50 times a column's.
list_examples_max: Final = 4096
# Features of one row of type u16x<m>.
row_features_max: Final = 1024
# Bytes of one point of type bytes<m>.
string_bytes_max: Final = 4096
# What names the user of an example: a digest so long that no two users ever share one.
user_bytes: Final = 16
# Bytes of unacknowledged examples frames that a server lets one connection have by default: what
# arrives while a commit is under way, as 65,536 single examples or sixteen of the largest frames.
credit_bytes: Final = 16 * 1024 * 1024
# Least credit a server may announce: a client can then always send one frame of this length.
credit_bytes_min: Final = 4096
# What an unacknowledged examples frame counts at least: a frame of 70 bytes keeps some 250 bytes of
# objects alive on either side.
frame_credit_bytes_min: Final = 256
# Greatest sequence number, position, version or season: SQLite's integers are signed 64 bits.
integer_max: Final = 2**63 - 1
# Streams that one connection may feed at a time; the channel number is one byte.
channels_max: Final = 256

# --- Names ----------------------------------------------------------------------------------------

# Names of streams and learners: they become parts of paths, table keys and metric labels.
name_characters_max: Final = 64
# "stream/learner".
learner_characters_max: Final = 2 * name_characters_max + 1
# A producer's name may hold a host, a path and a date.
producer_characters_max: Final = 128
# A place in a producer's source, such as a broker's number of a message with the name of its log.
resume_bytes_max: Final = 64
# What a program says about itself: name and version.
agent_bytes_max: Final = 128
# A token or a signed statement of some other system.
token_bytes_max: Final = 512
# The sentence of an Error.
error_message_bytes_max: Final = 1024
# An error code of a later version.
error_code_characters_max: Final = 64

# --- Rules ----------------------------------------------------------------------------------------

# Points of one rule; a rule is small or it is not a rule.
rule_members_max: Final = 4096
# Prefixes of one rule: each takes one of a frame's maps and lists.
rule_prefixes_max: Final = 1024
# Rules of one majority: a learner draws a few dozen; each takes two of a frame's maps and lists.
majority_members_max: Final = 1024
# Name of a rule in its table, and the table's fingerprint (up to 512 bits).
rule_name_bytes_max: Final = 128
digest_characters_max: Final = 128
# Points of a table's domain; the rule is then 64 KiB of bits, 128 KiB as text.
table_points_max: Final = 524_288

# --- Subscriptions --------------------------------------------------------------------------------

# Learners that one connection may subscribe to.
subscriptions_max: Final = 1024
# Unsent bytes to one peer at which it is dropped; holds the longest frame.
subscriber_bytes_max: Final = 1024 * 1024
# Status requests that may be unanswered on one connection.
status_requests_max: Final = 16

# --- Predictions ----------------------------------------------------------------------------------

# What names a request: so many random bytes that no two requests ever share them.
request_bytes: Final = 16
# Points of one request: an answer is computed and committed as one.
predict_points_max: Final = 1000
# Requests for predictions that may be unanswered on one connection.
predict_requests_max: Final = 16

# --- Streams elsewhere ----------------------------------------------------------------------------

# Addresses of one `moved`: a stream is served at one place, which has a few.
moved_addresses_max: Final = 8
# One of them: the longest name of a host, or path of a socket, with what stands around it.
address_bytes_max: Final = 300
# How long a server may put a client off before it asks again.
moved_after_ms_max: Final = 60_000

# --- Waits ----------------------------------------------------------------------------------------

# From connecting to the whole first frame.
first_frame_seconds: Final = 5.0
# From a frame's first byte to its last.
frame_seconds: Final = 10.0
# How long a peer may take to accept bytes while some are waiting for it.
send_seconds: Final = 10.0
# How long a client waits for Welcome, Opened or Status.
answer_seconds: Final = 10.0
# How long nothing may come on a connection that neither feeds nor subscribes: three pings.
idle_seconds: Final = 60.0
# How often a client sends Ping on a silent connection.
ping_seconds: Final = 20.0
# How long a client waits for a Pong before it takes the connection for lost.
pong_seconds: Final = 10.0
# How long either side waits for the other to close after an Error.
close_seconds: Final = 2.0
# Client: first and longest wait before connecting again; doubled each time, with jitter.
reconnect_first_seconds: Final = 0.1
reconnect_seconds_max: Final = 15.0


def credit_of_frame(frame_bytes: int) -> int:
    """Return the credit in bytes that an examples frame of this whole length uses."""
    return max(frame_bytes, frame_credit_bytes_min)


def _check_relations() -> None:
    """Raise RuntimeError when two limits contradict each other."""
    relations = {
        "a credit holds the largest frame": credit_bytes >= frame_bytes_max,
        "the least credit holds the least frame": credit_bytes_min >= frame_bytes_max_min,
        "the first frame fits": first_frame_bytes_max >= agent_bytes_max + token_bytes_max + 64,
        "a batch of 64-bit points fits": frame_bytes_max >= examples_per_frame_max * 9 + 128,
        "a list of rows fits": frame_containers_max >= list_examples_max + 1,
        "a list batch of pairs fits": frame_elements_max >= 4 * list_examples_max,
        "a majority fits": frame_containers_max >= 2 * majority_members_max + 4,
        "a set of prefixes fits": frame_containers_max >= rule_prefixes_max + 8,
        "a table's rule fits": frame_bytes_max >= table_points_max // 4 + 1024,
        "a subscriber may have one frame": subscriber_bytes_max >= frame_bytes_max,
        "a request of 128-bit points fits": frame_bytes_max >= predict_points_max * 16 + 256,
        "a list of points to predict fits": list_examples_max >= predict_points_max,
        "the longest string fits into a frame": frame_bytes_max
        >= string_bytes_max + user_bytes + 256,
        "the longest row fits into the least frame": frame_bytes_max_min
        >= 2 * row_features_max + user_bytes + 256,
        "a list of addresses fits into the least frame": frame_bytes_max_min
        >= moved_addresses_max * address_bytes_max + 512,
        "a client that pings is never idle": idle_seconds > 2 * ping_seconds,
        "a ping is answered before the next": pong_seconds <= ping_seconds,
    }
    for sentence, holds in relations.items():
        if not holds:
            raise RuntimeError(f"the protocol's limits contradict each other: {sentence}")


_check_relations()
