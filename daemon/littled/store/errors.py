"""What can go wrong with a store, each as one sentence without private values.

StoreError
|-- StoreRefused    a store cannot be made or opened like this; the sentence says what to do
|-- StoreFailed     the disk did not do what it was asked; the object refuses every later call
|   `-- StoreUnreachable    what keeps the high-water mark did not answer; a later start may go on
`-- StoreDamaged    what is stored contradicts itself, or what a replay came to
"""


class StoreError(Exception):
    """Everything that a store raises about itself."""


class StoreRefused(StoreError):
    """The store cannot be made or opened like this; nothing was changed."""


class StoreFailed(StoreError):
    """A read, a write or a sync failed. Nothing is retried: nobody knows what the disk holds."""


class StoreUnreachable(StoreFailed):
    """What keeps the high-water mark did not answer in time; a later start may go on."""


class StoreDamaged(StoreError):
    """Stored rows contradict each other, or a replay came to something else than is stored."""
