"""The log of a serving process: one JSON object a line, on standard error."""

import logging
import sys
from contextlib import suppress
from typing import TextIO, cast

import structlog
from structlog.stdlib import ProcessorFormatter
from structlog.typing import Processor

# No local variables in a traceback: they would hold bodies and keys.
_SHARED: list[Processor] = [
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]


class Patient:
    """A stream whose full disk or absent reader is nobody's problem: a request must not fail because of its log."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self._stream.write(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()


def configure() -> None:
    """Holdfast's own lines, and the warnings of whatever it is built on."""
    stderr = Patient(sys.stderr)
    render = structlog.processors.JSONRenderer(ensure_ascii=False)
    structlog.configure(
        processors=[*_SHARED, render],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, stderr)),
    )
    handler = logging.StreamHandler(cast(TextIO, stderr))
    handler.setFormatter(
        ProcessorFormatter(foreign_pre_chain=_SHARED, processors=[ProcessorFormatter.remove_processors_meta, render])
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
