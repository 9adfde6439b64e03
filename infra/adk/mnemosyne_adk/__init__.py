"""Long-term memory for agents of Google's ADK, stored by a Mnemosyne server and accessed over MCP.

Use it as `Runner(..., memory_service=MnemosyneMemoryService("https://…/mcp", api_key="…"))`.
"""

from mnemosyne_adk.memory_service import MemoryServiceError, MnemosyneMemoryService

__all__ = ["MemoryServiceError", "MnemosyneMemoryService"]
