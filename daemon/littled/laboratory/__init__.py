"""Laboratory only: statements of the papers on classes small enough for exact answers.

Run `python -m littled.laboratory`. No daemon, planner or client uses anything of this package, and
nothing of it is served: it reads no stream, keeps no store and takes no example of anybody. What it
shows, with every figure, is in docs/laboratory.md.

Letters name the papers as docs/from-the-paper-to-the-code.md does: A is Alon, Bun, Livni,
Malliaris and Moran, B is Bun, DF is Dagan and Feldman, L is Lyu.
"""
