"""Limits and waits of the daemon itself, each with its unit and its reason.

What a peer must know as well stands in `littled_protocol.limits`.
"""

from __future__ import annotations

# --- Access ---------------------------------------------------------------------------------------

# 128 bits written in hexadecimal; anything shorter invites a guess.
TOKEN_BYTES_MIN = 32
# Longest file of grants, key or certificates that is read; a grant takes some 100 bytes.
ACCESS_FILE_BYTES_MAX = 1024 * 1024

# --- Logs -----------------------------------------------------------------------------------------

# Deep enough for the daemon's own calls; a longer list would be some library's recursion.
LOG_PLACES_MAX = 12
# Longest text of one value in a log line.
LOG_TEXT_CHARACTERS_MAX = 400
# Lines of one kind (level, event, code and the daemon's own names) that are written in an interval;
# the others are counted and told at its end. What peers do must not fill the disk that the journal
# needs, and twenty lines show what is going on.
LOG_LINES_MAX = 20
LOG_INTERVAL_SECONDS = 10.0
# Kinds of lines that are told apart; the others share one count. The code has a few dozen, times
# learners.
LOG_KINDS_MAX = 4096

# --- Sessions -------------------------------------------------------------------------------------

# Connections at once over all listeners, beside newcomers that have not said anything yet.
CONNECTIONS_MAX = 1024
# The part of them that one origin may have (a user on Unix sockets, an address on TCP), so that
# nobody alone can lock out everybody else; and the part that is kept free for listeners that are
# not used yet, in equal shares.
CONNECTIONS_PER_ORIGIN_SHARE = 0.5
CONNECTIONS_RESERVED_SHARE = 0.25
# What counts as one origin: all addresses of the loopback interface, and of an IPv6 network, that
# have so many bits in common.
ORIGIN_LOOPBACK_BITS = 8
ORIGIN_IPV6_BITS = 64
# Newcomers that are waited for; each is a bare socket. The longest silent makes room.
LOBBY_MAX = 256
# Newcomers that have said something and wait to be let in, every origin in its turn. With more
# nobody is accepted, of whatever origin, so it is more than a crowd of one usually has.
ENTERING_MAX = 2048
# Accepted in one turn of the loop and for each listener (some 30 us each), and of those let in
# (some 200 us each): a flood of connects delays everybody else by no more. Who has left already
# takes half, and where nobody else comes, so many are accepted and closed in a turn. Of those who
# speak TLS one is let in.
ACCEPTS_PER_TURN = 16
LEAVERS_PER_TURN = 48
ENTRIES_PER_TURN = 2
# Of one origin, steps of handshakes that wait for their turn. With more none of its newcomers is
# let in: they would take each other's places among the connections before their turn has come.
HANDSHAKES_WAITING_MAX = 8
# Connections that the kernel keeps waiting in front of each listener. Who finds it full asks again
# after a second. A flood fills any queue; this one is passed through in less than half of that.
CONNECT_BACKLOG = 4096
# Pause after a turn in which a listener had as many newcomers or more: 10,000 a second come in,
# for a third of the loop's time, or 25,000 that leave at once, for half of it.
ACCEPT_PAUSE_SECONDS = 0.001
# Pause after the process had no file descriptors left.
ACCEPT_RETRY_SECONDS = 0.2
# File descriptors for everything that is no connection: the store, its readers, the loop, the log.
DESCRIPTORS_OTHER = 128
# Time between two rounds over all connections that look for broken time limits.
SWEEP_SECONDS = 0.5
# One read from a socket takes at most so much; the buffer is shared by all connections.
RECEIVE_BYTES = 512 * 1024
# The same for TLS, beneath it: one record of it. What a peer sends that is not read from stays in
# the kernel, but for so much.
TLS_READ_BYTES = 16 * 1024
# About so many records of TLS are read at once where they are short: each takes some 3 us, one that
# holds nothing but a new key 15 to 30. However short they were, a read may bring so many bytes.
TLS_RECORDS_PER_READ = 64
TLS_READ_BYTES_MIN = 2048
# Records without a byte for the daemon, those of the handshake among them, that a connection may
# bring, and after how many others it may bring one more: an honest peer changes its key once in
# millions.
TLS_EMPTY_RECORDS_MAX = 64
TLS_RECORDS_PER_EMPTY = 1024
# Work for one peer at a time, and for all peers in one turn of the loop, in units of some 5 us: one
# small message. Longer ones count by their bytes, columns of examples for less than anything else.
# So of those who send all they can two are served in a turn, one that has just come and one that
# has waited; an answer takes about two turns.
WORK_PER_PEER_UNITS = 50
WORK_PER_TURN_UNITS = 50
WORK_UNIT_SECONDS = 5e-6
WORK_BYTES_PER_UNIT = 256
WORK_COLUMN_BYTES_PER_UNIT = 2048
# The same of what is looked at value by value, lists and fields that nobody knows: 0.1 us each.
WORK_VALUES_PER_UNIT = 32
# A batch that was sent before: it is looked at by itself, and acknowledged again.
WORK_AGAIN_UNITS = 5
# With more values than this a message waits for its turn among those of all peers, and the loop
# rests from them so many times as long as it took: they have a fifth of its time.
SCAN_VALUES_MIN = 256
SCAN_REST_TIMES = 4
# As long as it takes at most, a message takes that turns out to be wrong.
SCAN_UNITS_MAX = 4096
# What arrives in one read and is dealt with at once, if it takes no more units than this: a peer
# that waits for each answer sends no more.
DIRECT_BYTES_MAX = 4096
DIRECT_UNITS = 16
# What a peer may ask for without feeding, in the same units: enough to open all channels of one
# connection or to subscribe to as many learners as it may, and then forty pings, or two statuses of
# a few streams, a second for ever. Five hundred peers that ask for all they may take a tenth of the
# loop's time.
ALLOWANCE_UNITS_MAX = 400
ALLOWANCE_UNITS_PER_SECOND = 40
# Who has spent all of it waits for so much; waking up costs some 50 us.
ALLOWANCE_WAIT_UNITS = 10
# What messages cost out of the allowance beside their bytes. A subscription pays little for being
# asked for, since its releases come at the pace of everybody's.
PING_UNITS = 1.0
SUBSCRIBE_UNITS = 0.25
OPEN_UNITS = 1.0
# Of a stream that has not changed a status has a copy of what was encoded before: two hundred take
# 0.3 ms. One that has changed takes 70 to 300 us, whatever it is written for.
STATUS_UNITS = 5
STATUS_UNITS_PER_STREAM = 0.3
STREAM_ANEW_UNITS = 40
# More than this no status costs, however many streams have changed: who watches all of a daemon's
# may ask every few seconds, and is answered within `answer_seconds`.
STATUS_UNITS_MAX = 160
# After how many milliseconds a client may ask again about a stream that another daemon serves, and
# about one that nobody serves: somebody takes it over within seconds.
MOVED_AGAIN_MS = 100
NOBODY_AGAIN_MS = 500
REFUSAL_UNITS = 4
# What peers may have sent and the daemon not yet dealt with takes at most 64 MiB: from each
# connection so much of a frame or of short frames,
FRAME_SHORT_BYTES = 16 * 1024
# unfinished longer frames that were granted their length,
FRAMES_GRANTED_BYTES = 32 * 1024 * 1024
# of which an origin that has more than so many times what is free is granted nothing: one alone
# leaves 3 MiB to somebody else, and three leave the longest frame, however much they want,
FRAMES_OF_ORIGIN_TIMES = 7
# and what long reads bring; above it reads are no longer than FRAME_SHORT_BYTES.
RECEIVE_BACKLOG_BYTES = 16 * 1024 * 1024
# While others wait for a grant, a frame that has one must grow by so much in so long.
FRAME_GROWTH_BYTES = 16 * 1024
FRAME_GROWTH_SECONDS = 0.25
# Unsent bytes to all peers together, above which the one with most of them is dropped.
UNSENT_BYTES_MAX = 64 * 1024 * 1024
# Unsent bytes to one peer above which its subscriptions wait and nothing more is read from it.
SEND_HIGH_WATER_BYTES = 256 * 1024
# Idle time, time between probes, and number of probes after which a silent TCP peer counts as gone.
KEEPALIVE_IDLE_SECONDS = 60
KEEPALIVE_INTERVAL_SECONDS = 15
KEEPALIVE_PROBES = 4

# Bytes of one peer's requests for predictions that wait for answers, above which nothing more is
# read from it; the longest single frame may come on top.
PREDICT_PENDING_BYTES_MAX = 256 * 1024

# --- Intake ---------------------------------------------------------------------------------------

# Consecutive frames of a producer become one journal record of at most so many bytes of points and
# labels (one frame may itself be as long as a frame can be). Longer records make better use of
# vectors, shorter ones make a commit's time even.
RECORD_BYTES_MAX = 1024 * 1024
# What one transaction takes along; more waits for the next one, so that no commit lasts long.
COMMIT_BYTES_MAX = 8 * 1024 * 1024
# What waits of a producer up to which any commit takes it whole, if it is one message: more than a
# single example comes to, less than anybody has waiting who feeds large batches at full speed.
PRODUCER_QUEUE_LITTLE_BYTES = 16 * 1024
# Messages in a row, each after the acknowledgement of the one before, that show that a producer
# waits for it: the end of a burst can look like that too, once.
WAITS_MIN = 3
# A producer that waits for each acknowledgement beside others keeps commits short for so long; who
# sends less often than that may meet with a long one.
HURRIED_SECONDS = 5.0
# What a short commit takes along of those who feed at full speed, in all: with twice as much, and
# more waiting, one wait in a hundred is twice as long (docs/speed.md).
HURRIED_BYTES_MAX = 64 * 1024
# How long they then wait for the next one: so many times what the loop has worked since the last
# such commit, but neither shorter, which leaves them 16 MiB a second, nor longer than this.
HURRIED_REST_TIMES = 2.0
HURRIED_REST_SECONDS_MIN = 0.004
HURRIED_REST_SECONDS_MAX = 0.02
# How often those are looked at that are not read from because too much of them waits.
PAUSED_LOOK_SECONDS = 0.25
# What may wait of a stream meanwhile; more would be read in bursts that others notice.
HURRIED_PENDING_BYTES_MAX = 2 * HURRIED_BYTES_MAX
# Examples up to which a lone run is committed on the event loop itself. With more its producer does
# not wait for acknowledgements, and its next frames should be read during the commit.
LIGHT_COMMIT_EXAMPLES_MAX = 16
# Producers that are looked up at a time, so that commits do not wait behind many who open channels.
PRODUCER_LOOKUPS_MAX = 2
# Channels of one connection that are being opened; its other messages wait meanwhile.
OPENING_MAX = 16
# How long the event loop waits for the writer to come to rest, before it hands a commit over to it.
WRITER_REST_SECONDS = 0.0002
# A commit that took longer keeps the next one off the event loop: other peers would notice.
QUICK_COMMIT_SECONDS = 0.002
# Accepted but not yet committed bytes of one stream, above which its feeders are not read from; and
# of all streams together, above which those are not read from that feed a stream with more than an
# equal part of it. That may come to twice as much, as the others get theirs.
STREAM_PENDING_BYTES_MAX = 16 * 1024 * 1024
PENDING_BYTES_MAX = 128 * 1024 * 1024
# Committed but not yet learned bytes of one stream, above which its commits wait. It bridges one
# joint training at full speed for the usual stream.
ENGINE_QUEUE_BYTES_MAX = 32 * 1024 * 1024
# The same of all streams together, above which the commits of those wait that have more than an
# equal part of it; this too may come to twice as much.
ENGINE_QUEUES_BYTES_MAX = 256 * 1024 * 1024
# Beyond these, room for producers of which next to nothing waits for the engine: of a stream, and
# of all streams.
ENGINE_QUEUE_RESERVE_BYTES = 4 * 1024 * 1024
ENGINE_QUEUES_RESERVE_BYTES = 64 * 1024 * 1024
# What a record in memory costs beside its columns, counted against the limits above: without it,
# many records of one example each would be held almost for free.
RECORD_OVERHEAD_BYTES = 1024

# --- Threads --------------------------------------------------------------------------------------

# Threads that all engines share, and those that all answers share. A turn takes milliseconds, and
# two cores are the least; more threads would only wait for the interpreter.
ENGINE_THREADS = 4
ANSWERING_THREADS = 4
# Threads for what the event loop must not wait for: checks and replays at the start, old releases.
LOOP_THREADS = 4

# --- Engines --------------------------------------------------------------------------------------

# What may follow a stream's last snapshot, by how long a start takes to replay it: an equal part of
# so much for each stream, but not less than the second. A snapshot costs some milliseconds.
REPLAY_SECONDS = 0.25
REPLAY_STREAM_SECONDS_MIN = 0.05
# What replaying takes, mostly from above, by what anybody may know of a journal: for each record,
# for each example, and for each byte of its columns, which are read, hashed and learned.
REPLAY_RECORD_SECONDS = 30e-6
REPLAY_EXAMPLE_SECONDS = 8e-9
REPLAY_BYTE_SECONDS = 4e-9
# A training that other machines have not done after so long is done here, and so are those that
# follow, for so long.
TRAINING_ELSEWHERE_SECONDS = 20.0
TRAININGS_HERE_SECONDS = 300.0
# A release says that there was a joint training, which a replay repeats. It is followed by a
# snapshot, unless the last one is younger than this.
SNAPSHOT_RELEASE_SECONDS = 0.5
# For each byte of a snapshot the next one has so much more to save, in seconds of replay or since
# the last: a few percent of that go into saving.
SNAPSHOT_BYTE_SECONDS = 3e-7
# How long a start goes on learning what no release or charge tells of yet, before the daemon
# listens and learns the rest as it learns what comes in.
START_LEARNING_SECONDS = 0.25
# Records between two requests for more time while a journal is read and checked at the start, and
# how long it is between two while it is replayed.
REPLAY_REPORT_RECORDS = 1_000
REPLAY_REPORT_SECONDS = 1.0
# The extension asked for each time; far longer than so many records, or a training, take.
REPLAY_EXTENSION_SECONDS = 60.0
# An engine that has nothing to do lets records gather for so long. Nobody notices a rule that comes
# so much later, but acknowledgements would notice an engine at work after every single example.
ENGINE_REST_SECONDS = 0.01
# And for so long where they come by ones: a gust of them every 10 ms would still meet with three in
# a hundred acknowledgements, each of which then waits for the interpreter several times.
ENGINE_LONG_REST_SECONDS = 0.2
# Examples between two rests from which on they do not, and that end a long one.
ENGINE_MANY_EXAMPLES = 1 << 16
# Longest holding of the interpreter by one thread while another waits for it. The default of 5 ms
# would let an engine thread delay acknowledgements forty times over.
SWITCH_SECONDS = 0.0005

# --- Subscribers ----------------------------------------------------------------------------------

# Latest releases of a learner kept in memory; older ones are read from the store.
RELEASES_IN_MEMORY_MAX = 64
# Latest figures of a learner kept in memory: a season has two dozen at the most. It takes some
# milliseconds to work out what one says.
FIGURES_IN_MEMORY_MAX = 64
# What a subscriber is given of older ones at a time: so many, or so many bytes and one more. It is
# what its connection takes before it has to read.
RELEASES_READ_MAX = 256
RELEASES_READ_BYTES = SEND_HIGH_WATER_BYTES
# Between two such reads, of whomever, while others wait for theirs, the store has rest for so many
# times what the last one took: the thread that reads takes the interpreter from everybody else.
RELEASES_REST_TIMES = 2
# Subscriptions of all connections together, of which one origin may have its share of connections;
# each is a task of some 4 KB.
SUBSCRIPTIONS_MAX = 16_384
# Releases that are sent in one turn of the loop, some 20 to 200 us each.
RELEASES_PER_TURN = 4

# --- HTTP -----------------------------------------------------------------------------------------

# Requests under way at once, and streams of server-sent events among them.
HTTP_CONNECTIONS_MAX = 128
HTTP_EVENT_STREAMS_MAX = 64
# What all clients of HTTP together may take, questions and rows aside, in the units of a peer's
# allowance: an eighth of the loop's time, some 200 requests a second. Who asks for more waits, and
# nobody is refused for it. Those who ask for health and metrics have as much for themselves, and
# each origin once more for questions, by their bytes, and for questions and rows that are refused.
HTTP_UNITS_MAX = 2_000
HTTP_UNITS_PER_SECOND = 25_000
# Bytes of a question that take one unit at their worst: a megabyte of empty lists, or of pieces of
# one byte each. And of a body that is refused, for which nothing else is paid: of many short rows
# in lines, of which the last one is wrong.
HTTP_BODY_BYTES_PER_UNIT = 32
HTTP_REFUSED_BYTES_PER_UNIT = 10
# Origins of which it is known what they have spent.
HTTP_ORIGINS_MAX = 1024
# Who waits does so for a whole request.
HTTP_WAIT_UNITS = 100
# A request, whatever it asks for: it is parsed, answered, and its connection closed. A stream of
# events has a task of its own as well.
HTTP_REQUEST_UNITS = 100
HTTP_EVENTS_UNITS = 200
# What a stream takes in a status or in metrics that has not changed, its way to the peer included.
HTTP_UNITS_PER_STREAM = 2
# What one that has changed takes in metrics.
METRICS_ANEW_UNITS = 60
# Streams that one status message tells of, where its frame has room for them: it is made on the
# event loop.
STATUS_STREAMS_MAX = 256
# What a release takes that is told in a form for the first time, and each value of its rule: those
# of 4,000 points come to 20 ms, of 500 sets of points to 60. What was made is kept, up to so many
# bytes.
RELEASE_ANEW_UNITS = 20
RELEASE_VALUE_UNITS = 2
HTTP_RELEASES_KEPT_BYTES = 8 * 1024 * 1024
# Requests for health and metrics under way at once, which no other page can use up: more than all
# who watch one daemon.
HTTP_WATCH_CONNECTIONS_MAX = 16
# Connections whose request is not there yet or stands in line for a slot; they cost little, and the
# oldest makes room for a newcomer.
HTTP_WAITING_MAX = 256
# A request may stand in line for so long.
HTTP_LINE_SECONDS = 2.0
# From connecting, and a TLS handshake if there is one, to the end of the request's head.
HTTP_HEAD_SECONDS = 5.0
# Longest head: a request line and headers.
HTTP_HEAD_BYTES_MAX = 16 * 1024
# Longest request line, and longest single header.
HTTP_LINE_BYTES_MAX = 4096
# One read from a connection takes at most so much, and so much of a body is passed on in a turn.
HTTP_READ_BYTES = 16 * 1024
# All that one connection may send: one question in pieces, each with its length.
HTTP_REQUEST_BYTES_MAX = 2 * 1024 * 1024
# A comment goes down a quiet stream of events so often, to find out whether anybody is there.
HTTP_HEARTBEAT_SECONDS = 15.0
# Who meets with full slots, or with a daemon that stops, is told to ask again in so many seconds.
HTTP_AGAIN_SECONDS = 5
# Positions of streams are told at most so often.
HTTP_TICK_SECONDS = 1.0
# Plans for the page: how much of the processor one may take, which does not depend on what else the
# machine does; how long, wherever it is that busy; how many may wait, and how many are kept. The
# longest that are known take 3 s of a processor.
PLAN_CPU_SECONDS = 30
PLAN_SECONDS = 120.0
PLANS_WAITING_MAX = 4
PLANS_KEPT_MAX = 256
# A question may be so long, and no longer than the points need that it may ask about: a number, in
# quotes and with blanks; one in a row of them; a byte of a text at its longest; and the rest. So
# many are read and answered at once; longer ones than the last are read beside the loop, one at a
# time.
HTTP_QUESTION_BYTES_MAX = 1 << 20
HTTP_QUESTION_NUMBER_BYTES = 64
HTTP_QUESTION_FEATURE_BYTES = 24
HTTP_QUESTION_CHARACTER_BYTES = 6
HTTP_QUESTION_OTHER_BYTES = 1024
HTTP_QUESTIONS_MAX = 16
HTTP_QUESTION_DIRECT_BYTES = 8 * 1024
# Its body has to come within so long.
HTTP_QUESTION_SECONDS = 15.0
# JSON that is longer is read in pieces of so much: none holds the interpreter for more than some
# 10 ms, however it is built; of each list first in one as short as the next number says, and then
# in ones that double. What is read at once beside them, a row or a cell in a list, and one
# column that is no list, is as long as a row with as many columns as there may be, and takes up to
# 40 ms if it is nothing but empty lists; so long is a window of elements that are read one by one.
# An object that is read in pieces has as many keys.
HTTP_JSON_PIECE_CHARACTERS = 32 * 1024
HTTP_JSON_FIRST_PIECE_CHARACTERS = 1024
HTTP_JSON_ELEMENT_CHARACTERS_MAX = 96 * 1024
HTTP_JSON_KEYS_MAX = 4096
# Lists and objects in one body, wherever they are: freeing them, or looking through them for what
# is no longer needed, takes some 10 ms in one go. So many rows are as many as a frame of the
# protocol has examples.
HTTP_JSON_LISTS_MAX = 65_536
# Rows that are turned into columns at a time, for the same reason.
HTTP_FEED_ROWS_AT_A_TIME = 8192
# Rows for a stream: as long a body as any question, which is read in so long too; so many at once.
# One body is read at a time, for 30 MB where it has tiny rows.
HTTP_FEED_BYTES_MAX = HTTP_QUESTION_BYTES_MAX
HTTP_FEEDS_MAX = 16
# Columns of points, labels and users that a body may come to.
HTTP_FEED_COLUMN_BYTES_MAX = 8 * 1024 * 1024
# Rows become durable within so long, or the request is to be sent again.
HTTP_FEED_SECONDS = 30.0

# Files that the process must be able to open: each of the two ways in has newcomers of its own.
# `LimitNOFILE=` of the unit is above it.
DESCRIPTORS_MAX = (
    CONNECTIONS_MAX
    + HTTP_WAITING_MAX
    + HTTP_CONNECTIONS_MAX
    + HTTP_WATCH_CONNECTIONS_MAX
    + 2 * (LOBBY_MAX + ENTERING_MAX)
    + DESCRIPTORS_OTHER
)

# --- Memory ---------------------------------------------------------------------------------------

# --- Groups ---------------------------------------------------------------------------------------

# Seconds that a member's lease lasts without being renewed: what it takes to notice that a machine
# is gone. It is renewed in a third of them; etcd counts in whole seconds.
GROUP_LEASE_SECONDS = 3
GROUP_LEASE_SECONDS_MIN, GROUP_LEASE_SECONDS_MAX = 2, 60
# How often a member looks who lives, and how often a daemon looks where other streams are.
GROUP_POLL_SECONDS = 0.5
GROUP_DIRECTORY_SECONDS = 1.0
# Addresses of one partition that are read.
GROUP_ADDRESSES_MAX = 8
# How long a daemon may take to start and to stop, both longer than it takes by itself, and to end
# where another one may be at work already; and how long it may be silent.
GROUP_START_SECONDS = 120.0
GROUP_STOP_SECONDS = 30.0
GROUP_HURRY_SECONDS = 1.0
GROUP_SILENT_SECONDS = 30.0
# How long adding a partition may go on without a word; in half of it a member gives up another one.
GROUP_ADDING_SECONDS = 60
# How long a daemon may take to end whose member is gone: less than the shortest lease.
GROUP_ORPHAN_SECONDS = 1.5

# Freed memory that the C library keeps, and the longest block that it takes from there: the most
# that glibc can be told, and more than the columns of a commit.
MEMORY_KEPT_BYTES = 32 * 1024 * 1024

# --- Service --------------------------------------------------------------------------------------

# A stop that takes longer gives up its snapshots; the journal has everything.
STOP_SECONDS = 20.0
# An idle daemon makes one commit round trip so often, or three times per watchdog period.
PULSE_SECONDS = 10.0
PULSES_PER_WATCHDOG = 3
# Time without a commit after which the daemon calls itself unhealthy.
UNHEALTHY_SECONDS = 30.0

# --- Store ----------------------------------------------------------------------------------------

# Page of the SQLite file. A commit of one example writes two: with 16 KiB it takes half as long
# again, and with 4 KiB no less, while long records are as quick as with either; only read when a
# store is made.
STORE_PAGE_BYTES = 8 * 1024
# Write-ahead log after which a commit copies it into the main file. The copy holds up that commit,
# by about 15 ms for so much.
STORE_CHECKPOINT_BYTES = 16 * 1024 * 1024
# Write-ahead log above which a commit waits for readers to let go, so that the log can begin anew.
STORE_LOG_BYTES_MAX = 8 * STORE_CHECKPOINT_BYTES
# How long it waits; a reader of ours is done in milliseconds.
STORE_LOG_WAIT_SECONDS = 1.0
# How long any access waits for another process's lock on the SQLite file.
STORE_BUSY_SECONDS = 5.0
# Records that came alone and wait in the tail to go into the database together: more of them would
# hold up the one that brings them in for longer, by a millisecond for so many. Each has a page of
# the system's by itself; a longer one goes into the database at once.
TAIL_SLOTS = 512
TAIL_SLOT_BYTES = 4096
# How often what waits there is brought in, full or not, so that other processes see it.
TAIL_SECONDS = 1.0
# How long whoever is about to serve a store waits for one that only brings in what waits there, and
# whoever reads it for one that opens it: either may have a long log to write into the file before.
STORE_LOCK_SECONDS = 10.0
# Time after which a commit looks again whether the SQLite file is still where it was opened. What
# was acknowledged since would be lost with it; a look takes some microseconds.
STORE_PLACE_SECONDS = 1.0
# How long PostgreSQL may take to let a connection in, and after how much silence, and how often
# then, its host is asked whether it is still there.
POSTGRES_CONNECT_SECONDS = 10
POSTGRES_KEEPALIVE_SECONDS = 10
# How long an opening waits for the server to notice that the one before has ended.
POSTGRES_LOCK_SECONDS = 1.0
# How long who takes over a folder waits for the process that has it to end.
STORE_TAKE_OVER_SECONDS = 5.0
# Rows of PostgreSQL that are fetched at first, and bytes that are then fetched at a time.
POSTGRES_FETCH_ROWS = 16
POSTGRES_FETCH_BYTES = 1024 * 1024
# Pages that the writing connection keeps in memory; holds a whole commit.
STORE_CACHE_BYTES = 16 * 1024 * 1024
# One reading transaction takes so many rows or bytes, whichever comes first; then the write-ahead
# log may move on.
STORE_READ_ROWS_MAX = 1024
STORE_READ_BYTES_MAX = 4 * 1024 * 1024
# Old records are packed into segments of at most so many records, examples, and bytes of columns (a
# single record may be longer). More waste less, but it takes longer to pack one, which holds up a
# commit, and to look up a single record in it: a few milliseconds for so much.
SEGMENT_RECORDS_MAX = 1024
SEGMENT_EXAMPLES_MAX = 128 * 1024
SEGMENT_BYTES_MAX = 1 << 20
# Records are left in rows of their own where these take no more than so many times their columns:
# those of large batches need not be written twice.
SEGMENT_ROWS_OVERHEAD_MAX = 1.1
# After packing a segment the writer is left to others for so many times as long, unless as many
# segments are waiting: then it packs as fast as it can.
PACKING_REST_TIMES = 4
PACKING_WAITING_MAX = 64
# Bytes of columns after which a file of an archive is full. It is read as a whole.
ARCHIVE_FILE_BYTES = 64 * 1024 * 1024
# What opening a store has read of the journals' ends is kept for whoever reads it next, up to so
# many bytes in equal shares: what a replay may take, and a full queue of an engine.
STORE_AHEAD_BYTES_MAX = 96 * 1024 * 1024
# Columns of records from so many bytes on stand in files of their own beside the SQLite file, if a
# commit has so many bytes of them. Shorter ones are packed; and a commit then syncs twice, which
# few bytes do not make up for.
COLUMNS_BESIDE_RECORD_BYTES_MIN = 4 * 1024
COLUMNS_BESIDE_COMMIT_BYTES_MIN = 256 * 1024

# What one transaction takes when a store is copied: so much waits in memory, and is synced at once.
STORE_COPY_BYTES = 8 * 1024 * 1024
STORE_COPY_ROWS_MAX = 16 * 1024
# A file of columns that has so many bytes is followed by another one. Archiving gives them back
# one file at a time.
COLUMN_FILE_BYTES = 64 * 1024 * 1024
# Columns that were written and synced, and that the system is left with in its memory.
COLUMNS_IN_MEMORY_BYTES_MAX = 1024 * 1024
# Connections for reading that are kept open while nobody reads.
STORE_READERS_IDLE_MAX = 4
# Producers whose sequence numbers are kept in memory, at some 400 bytes each; those of others are
# looked up.
STORE_PRODUCERS_IN_MEMORY_MAX = 16_384
# Snapshots kept of each stream: when the newest is damaged, the one before may still serve.
STORE_SNAPSHOTS_KEPT = 2
# Longest file of a noise key (64 digits and a line end) and longest high-water mark that is read: a
# stream takes half a kilobyte and, with as many producers as are named, a hundred more.
KEY_FILE_BYTES_MAX = 256
MARK_FILE_BYTES_MAX = 1024 * 1024 * 1024
# Producers of a stream that a high-water mark names; a mark is written at every charge and answer.
MARK_PRODUCERS_MAX = 512
# How far a mark is ahead of a producer when it needs a new number: by what the producer sends in so
# many seconds, if it goes on as it did since its last number; but by no more than so many times
# what it has sent since then, and never by fewer examples than these. It is one more write in so
# long, and what a producer may have to leave out when a store goes on from an older copy.
MARK_AHEAD_SECONDS = 30.0
MARK_AHEAD_TIMES = 32
MARK_AHEAD_EXAMPLES = 256
# A producer that the mark does not name, and that is this many examples below the number for all
# that are not named, is named with the next mark, which is then written so long after the last one:
# for ten thousand such producers it is one write in a second, and not one in a commit.
MARK_LOOSE_EXAMPLES = 4 * MARK_AHEAD_EXAMPLES
MARK_NAMING_SECONDS = 1.0
# A mark in etcd: how long one member may take to answer, how long all of them may be without an
# answer until the daemon ends (longer than an election, shorter than what a watchdog allows), and
# the time between two rounds.
MARK_REQUEST_SECONDS = 3.0
MARK_WAIT_SECONDS = 15.0
MARK_RETRY_SECONDS = 0.2
# What one transaction of etcd may hold (its own limits are 128 operations and 1.5 MiB), and an
# answer, which has a whole mark in base64.
ETCD_OPERATIONS_MAX = 120
ETCD_REQUEST_BYTES_MAX = 1_000_000
ETCD_ANSWER_BYTES_MAX = 2 * MARK_FILE_BYTES_MAX
ETCD_PASSWORD_BYTES_MAX = 1024
