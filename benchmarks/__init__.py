"""Measurements of the program; each runs by itself, in the root of the repository.

    python -m benchmarks.addresses     # sets of blocks, beside one block and others
    python -m benchmarks.batch         # least windows, and rules of windows of flights
    python -m benchmarks.engine        # the engine alone, nanoseconds an example
    python -m benchmarks.evasion       # mistakes, against whoever writes the stream meanwhile
    python -m benchmarks.feeding       # rows over HTTP, beside a bare server
    python -m benchmarks.groups        # how soon streams are taken over from a dead machine
    python -m benchmarks.journal       # bytes on disk, and starts after a kill
    python -m benchmarks.learning      # mistakes, beside other methods
    python -m benchmarks.marks         # what the high-water mark costs
    python -m benchmarks.moving        # a store that is moved, to a folder or a server
    python -m benchmarks.postgres      # a store in PostgreSQL, beside bare commits and a folder
    python -m benchmarks.prediction    # private answers: errors, numbers, time
    python -m benchmarks.real          # error on real streams of tables, beside peers
    python -m benchmarks.registers     # the mark in a file and in etcd, beside a bare swap
    python -m benchmarks.retrain       # joint trainings, and acknowledgements beside them
    python -m benchmarks.rows          # rows of ten columns with learning, beside a bare server
    python -m benchmarks.separation    # one-way sequences from a sample, and in order
    python -m benchmarks.service       # the daemon, beside a bare server and others
    python -m benchmarks.sources       # examples from brokers, beside their bare clients
    python -m benchmarks.streams       # what thousands of idle streams cost, beside one
    python -m benchmarks.tables        # columns of tables: encoding, reading, backtests
    python -m benchmarks.users         # what the protection of users costs
    python -m benchmarks.values        # robust minima and most frequent items, beside OpenDP

All of them take `--help`; `make benchmarks` runs them one after the other.
"""
