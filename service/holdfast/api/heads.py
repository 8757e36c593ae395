"""HEAD answers as GET does, without the body."""

from starlette.types import ASGIApp, Receive, Scope, Send


class Heads:
    """An ASGI application around another."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "HEAD":
            await self._ask(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _ask(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The server leaves the body out, because its own scope still says HEAD."""
        as_get = {**scope, "method": "GET"}
        try:
            await self.app(as_get, receive, send)
        finally:
            if "route" in as_get:
                scope["route"] = as_get["route"]  # for the metrics
