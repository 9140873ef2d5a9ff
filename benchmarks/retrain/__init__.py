"""Joint trainings: how long they take, and what acknowledgements notice of them.

    python -m benchmarks.retrain [--runs 9] [--rounds 5] [--seconds 3] [--pace 1000]
                                 [--only TEXT] [--part trainings|acknowledgements]

Two parts, in JSON lines; the exit status is 1 if a goal is missed.

- trainings: one call (`OnlineLearner.step` with `CallAdmitted`) of every way of selection, with
  10^6 candidate rules or 4,000 teachers. Goal: at most 1 s in the median. `first` is the run that
  also builds the noise tables of its rate, which are kept from then on; `peak_mib` is the memory
  that a training takes at the most, beyond what was kept.
- acknowledgements: a producer sends single examples at a steady pace to one stream of a real
  daemon, while another stream trains without a pause and, in turn, while it rests. Goal: the 99th
  percentile of the time to a durable acknowledgement is at most 2 times that at rest, in the median
  of pairs of rounds.

Whatever else runs on the machine is felt by both: `other_cpus` is what it took of the processors.
"""
