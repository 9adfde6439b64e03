"""Long-term memory for agents that are built with Google's Agent Development Kit (ADK).

A Mnemosyne server stores the memories, and this package calls the server over MCP. Use it as
`Runner(..., memory_service=MnemosyneMemoryService("https://…/mcp", api_key="…"))`.
"""

from mnemosyne_adk.memory_service import MemoryServiceError, MnemosyneMemoryService

__all__ = ["MemoryServiceError", "MnemosyneMemoryService"]
