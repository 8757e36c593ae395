"""Decisions that nothing has been said of yet, so that a reward that comes soon needs no look into the log.

They are remembered under the learner's row lock and forgotten as soon as anything is said of them, or as the copy
catches up with another process: whatever is here is as the log has it.
"""

from holdfast.store.log import Found, Kept, found_of

BYTES_MAX = 4 * 1024 * 1024  # of payload, for one learner


class OpenDecisions:
    """By event id. Once the newer ones fill a third of the room they take the place of the older, which are forgotten
    all at once: in a queue each would have to be taken out. They may be twice that, after a large batch.
    """

    def __init__(self) -> None:
        self._newer: dict[str, Kept] = {}
        self._older: dict[str, Kept] = {}
        self._newer_bytes = 0

    def __contains__(self, event_id: str) -> bool:
        return event_id in self._newer or event_id in self._older

    def remember(self, kept: dict[str, Kept]) -> None:
        self._newer.update(kept)
        self._newer_bytes += sum(len(payload) for _, _, payload in kept.values())

    def trim(self) -> None:
        """Between batches only: what an operation was told to be here must be here when it is performed."""
        if self._newer_bytes > BYTES_MAX // 3:
            older = self._newer if self._newer_bytes <= BYTES_MAX // 3 * 2 else {}
            self._newer, self._older, self._newer_bytes = {}, older, 0

    def forget(self, event_id: str) -> Found | None:
        """What was known of it, if anything."""
        kept = self._newer.pop(event_id, None)
        if kept is not None:
            self._newer_bytes -= len(kept[-1])
        else:
            kept = self._older.pop(event_id, None)
        return None if kept is None else found_of(event_id, kept)

    def clear(self) -> None:
        self._newer.clear()
        self._older.clear()
        self._newer_bytes = 0
