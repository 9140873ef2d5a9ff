"""How many processes and threads the daemon may have, and how much memory: what a unit allows."""

from littled.limits import (
    ANSWERING_THREADS,
    CONNECTIONS_MAX,
    ENGINE_QUEUES_BYTES_MAX,
    ENGINE_QUEUES_RESERVE_BYTES,
    ENGINE_THREADS,
    FRAME_SHORT_BYTES,
    FRAMES_GRANTED_BYTES,
    HTTP_FEED_BYTES_MAX,
    HTTP_FEED_COLUMN_BYTES_MAX,
    HTTP_FEEDS_MAX,
    HTTP_QUESTION_BYTES_MAX,
    HTTP_QUESTIONS_MAX,
    LOOP_THREADS,
    PENDING_BYTES_MAX,
    RECEIVE_BACKLOG_BYTES,
    STORE_AHEAD_BYTES_MAX,
    UNSENT_BYTES_MAX,
)

# Processes and threads of joint training: one thread; and where teachers list hypotheses, a process
# of two threads, two more here that feed it, and the one that tidies up after it.
TRAINING_TASKS = 1 + 2 + 2 + 1
# All of them with the main thread and the writer, and a few to spare.
TASKS_MAX = 2 + ENGINE_THREADS + ANSWERING_THREADS + LOOP_THREADS + TRAINING_TASKS + 8
# The program, and what engines keep of a few hundred usual streams.
PROGRAM_BYTES = 512 << 20
# With what of all peers and streams may wait at once.
MEMORY_BYTES_MAX = (
    PROGRAM_BYTES
    + CONNECTIONS_MAX * FRAME_SHORT_BYTES
    + FRAMES_GRANTED_BYTES
    + RECEIVE_BACKLOG_BYTES
    + UNSENT_BYTES_MAX
    + 2 * PENDING_BYTES_MAX
    + 2 * ENGINE_QUEUES_BYTES_MAX
    + ENGINE_QUEUES_RESERVE_BYTES
    + STORE_AHEAD_BYTES_MAX
    + HTTP_FEEDS_MAX * (HTTP_FEED_BYTES_MAX + HTTP_FEED_COLUMN_BYTES_MAX)
    + HTTP_QUESTIONS_MAX * HTTP_QUESTION_BYTES_MAX
)
