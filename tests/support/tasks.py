"""How many processes and threads the daemon may have: what a unit has to allow."""

from littled.limits import ANSWERING_THREADS, ENGINE_THREADS, LOOP_THREADS

# Processes and threads of joint training: one thread; and where teachers list hypotheses, a process
# of two threads, two more here that feed it, and the one that tidies up after it.
TRAINING_TASKS = 1 + 2 + 2 + 1
# All of them with the main thread and the writer, and a few to spare.
TASKS_MAX = 2 + ENGINE_THREADS + ANSWERING_THREADS + LOOP_THREADS + TRAINING_TASKS + 8
