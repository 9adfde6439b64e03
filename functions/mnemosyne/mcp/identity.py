"""Who the server is: all of it where a client asks, name and version beside every other answer."""

from typing import Any

import mcp_types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp_types import SERVER_INFO_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS


class IdentifiedServer(Server[Any]):
    """The SDK's server, which stamps answers of 2026-07-28 with its name and version alone.

    The SDK would put the icons into each of them, 1,300 bytes of data. `server/discover` has them, and `initialize`.
    """

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.add_request_handler("server/discover", mcp_types.RequestParams, self._discovered)

    @property
    def server_info_stamp(self) -> dict[str, Any]:
        """What stands beside an answer."""
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
