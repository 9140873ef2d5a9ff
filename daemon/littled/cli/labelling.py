"""Examples that all have one label are held back: most often a column or a word was mistaken."""

from collections.abc import Iterator

from littled.cli.failures import Failure
from littled.cli.output import notes, number
from littled_client.conversions import Batch
from littled_client.sources import Source


def both_labels(batches: Iterator[Batch], source: Source) -> Iterator[Batch]:
    """Yield the batches of a source from where both labels have come.

    Failure when a first full batch, or all there is, has one label alone. On a pipe they are waited
    for, and a note says so.
    """
    held: list[Batch] = []
    seen: set[int] = set()
    count = 0
    for batch in batches:
        if len(seen) < 2:
            held.append(batch)
            seen.update(batch[1].tolist())
            count += len(batch[1])
            if len(seen) == 2:
                yield from held
                held.clear()
            elif count >= source.batch_examples:
                raise Failure(_one_label(count, source))
            elif len(held) == 1 and source.waiting:
                notes().print("note: held back until both labels have come; see --one-label")
            continue
        yield batch
    if held:
        if source.stopped:
            notes().print(f"note: {number(count)} examples of one label were held back, not sent")
        else:
            raise Failure(_one_label(count, source))


def _one_label(count: int, source: Source) -> str:
    return (
        f"the first {number(count)} examples of {source.name} all have the same label, so nothing "
        "was sent: name the right column and words, or say --one-label if that is right"
    )
