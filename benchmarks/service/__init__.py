"""How fast the daemon takes in examples, beside a bare server and beside peers, in one run.

    python -m benchmarks.service [--quick] [--rounds 5] [--json FILE] [--plots FILE] [...]

Run from the root of the repository. All take turns, in another order each round, with frames that
were made before; every acknowledgement of the daemon comes after a sync. Figures are for the
present minute of the present machine, so that only the ratios of one run mean anything; the CPU
time of a server, beside them, depends less on what else the machine does.

- *daemon*: `littled serve` in a process of its own, on a new store, over a Unix socket.
- *bare server*: an asyncio server that decodes, steps through a fixed rule, syncs its own log on a
  thread and acknowledges, and does nothing else (`bare.py`); its points have 8 bytes.
- *peers*, as far as they are installed: Redis Streams with `appendfsync always`, NATS JetStream,
  which does not sync before it acknowledges, Vowpal Wabbit's daemon, inserts into SQLite and River,
  the last two in this process. `pip install 'littled[benchmarks]'` and the packages `redis-server`
  and `nats-server` of a Linux distribution have them.
"""
