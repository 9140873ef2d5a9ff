"""Inputs guided by coverage: `python -m fuzzing.guided FIRST COUNT`, with atheris.

atheris is libFuzzer for Python; the extra `fuzz` installs it where it can be had. It begins with
the inputs of `fuzzing.targets` and keeps in `.campaign/corpus` what reached new code, for the next
run. What fails is written to `fuzzing/failing`, like that of `fuzzing.frames`. Where there is no
atheris, hypothesis has to do (`tests/test_fuzzing.py`), and this ends with status 3.
"""

import hashlib
import sys
import traceback
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / ".campaign" / "corpus"
WITHOUT_ATHERIS = 3


def main(first: str = "0", count: str = "100000") -> int:
    """Run so many inputs; `first` is the seed. Ends the process where one fails."""
    try:
        import atheris
    except ImportError:
        print("atheris is not installed: pip install '.[fuzz]'")
        return WITHOUT_ATHERIS
    with atheris.instrument_imports(include=["littled_protocol", "littled.service.questions"]):
        from fuzzing.frames import keep
        from fuzzing.targets import INPUT_BYTES_MAX, run, starting_points
    CORPUS.mkdir(parents=True, exist_ok=True)
    for data in starting_points():
        (CORPUS / hashlib.blake2b(data, digest_size=8).hexdigest()).write_bytes(data)

    def one(data: bytes) -> None:
        try:
            run(data)
        except Exception:
            keep(data)
            traceback.print_exc()
            print(f"failing seed {first}", flush=True)
            raise

    options = [f"-runs={count}", f"-seed={int(first) + 1}", f"-max_len={INPUT_BYTES_MAX}"]
    limits = ["-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"]
    artifacts = f"-artifact_prefix={CORPUS.parent}/"
    atheris.Setup([sys.argv[0], *options, *limits, artifacts, str(CORPUS)], one)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
