"""The log is for whoever reads it, and never at a request's cost."""

import io

from holdfast.logs import Patient


class Full(io.StringIO):
    """A stream on a full disk."""

    def write(self, text: str) -> int:
        raise OSError("no space left")

    def flush(self) -> None:
        raise BrokenPipeError


def test_a_log_that_cannot_be_written_raises_nothing_and_one_that_can_is_written() -> None:
    full, good = Patient(Full()), io.StringIO()
    full.write("lost")
    full.flush()
    Patient(good).write("kept")
    assert good.getvalue() == "kept"
