"""Decisions that nothing has been said of yet, so that a reward that comes soon needs no look into the log.

They are remembered under the learner's row lock and forgotten as soon as anything is said of them, or as the copy
catches up with another process: whatever is here is as the log has it.
"""

from collections import OrderedDict

from holdfast.store.log import Found

BYTES_MAX = 4 * 1024 * 1024  # of payload, for one learner; the oldest are forgotten first


class OpenDecisions:
    """By event id."""

    def __init__(self) -> None:
        # Of which the first is at hand; a plain dict looks for it past all that were taken out.
        self._found: OrderedDict[str, Found] = OrderedDict()
        self._bytes = 0

    def __contains__(self, event_id: str) -> bool:
        return event_id in self._found

    def remember(self, found: Found) -> None:
        self._found[found.event.event_id] = found
        self._bytes += len(found.event.payload)

    def trim(self) -> None:
        """Between batches only: what an operation was told to be here must be here when it is performed."""
        while self._bytes > BYTES_MAX:
            _, oldest = self._found.popitem(last=False)
            self._bytes -= len(oldest.event.payload)

    def forget(self, event_id: str) -> Found | None:
        """What was known of it, if anything."""
        found = self._found.pop(event_id, None)
        if found is not None:
            self._bytes -= len(found.event.payload)
        return found

    def clear(self) -> None:
        self._found.clear()
        self._bytes = 0
