"""Releases as CloudEvents 1.0 in the JSON format: the same for all who forward them."""

from __future__ import annotations

from typing import Any

from littled_client.published import Published

# What stands before the kind of a release: "rule", "halt" or "season".
TYPE = "littled.release."


def cloud_event(published: Published, instance: str) -> dict[str, Any]:
    """Return a release as a structured event (CloudEvents 1.0.2, JSON event format 3.2).

    instance: the public name of the daemon's store, which makes `source`; together with `id`, the
    learner and the version, it names the release for ever. `data` is what `Published.to_dict`
    gives. There is no `time`, as releases have none that is public: `position` says when it was.
    """
    return {
        "specversion": "1.0",
        "id": f"{published.learner}/{published.version}",
        "source": f"urn:littled:{instance}",
        "type": TYPE + published.kind,
        "subject": published.learner,
        "datacontenttype": "application/json",
        "data": published.to_dict(),
    }
