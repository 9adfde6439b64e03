"""The server's description of itself for clients: complete in `server/discover`, else only name and version."""

from typing import Any

import mcp_types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp_types import SERVER_INFO_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS


class IdentifiedServer(Server[Any]):
    """The SDK's server, with only name and version in the `_meta` of each answer of revision 2026-07-28.

    The SDK would add the icons, 1,300 bytes, to each answer. Only `server/discover` and `initialize` return them.
    """

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.middleware.clear()  # the SDK's spans: no tracer is configured, so they would cost CPU time for nothing
        self.add_request_handler("server/discover", mcp_types.RequestParams, self._discovered)

    @property
    def server_info_stamp(self) -> dict[str, Any]:
        """The server's description in the `_meta` of each answer."""
        return {"name": self.name, "version": self.version}

    async def _discovered(
        self, context: ServerRequestContext[Any], params: mcp_types.RequestParams
    ) -> mcp_types.DiscoverResult:
        result = mcp_types.DiscoverResult(
            supported_versions=list(MODERN_PROTOCOL_VERSIONS),
            capabilities=self.get_capabilities(protocol_version=context.protocol_version),
            instructions=self.instructions,
        )
        whole = self.server_info.model_dump(by_alias=True, mode="json", exclude_none=True)
        return result.model_copy(update={"meta": {SERVER_INFO_META_KEY: whole}})
