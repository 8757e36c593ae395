"""The log of a serving process: one JSON object a line, on standard error."""

import logging
import sys

import structlog
from structlog.stdlib import ProcessorFormatter
from structlog.typing import Processor

# No local variables in a traceback: they would hold bodies and keys.
_SHARED: list[Processor] = [
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]


def configure() -> None:
    """Holdfast's own lines, and the warnings of whatever it is built on."""
    render = structlog.processors.JSONRenderer(ensure_ascii=False)
    structlog.configure(
        processors=[*_SHARED, render],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        ProcessorFormatter(foreign_pre_chain=_SHARED, processors=[ProcessorFormatter.remove_processors_meta, render])
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
