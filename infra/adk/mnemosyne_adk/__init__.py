"""Long-term memory for agents of Google's ADK, stored by a Mnemosyne server and accessed over MCP.

`pip install mnemosyne-adk`, and `Runner(..., memory_service=MnemosyneMemoryService("https://…/mcp"))`.
"""

from mnemosyne_adk.memory_service import MemoryServiceError, MnemosyneMemoryService

__all__ = ["MemoryServiceError", "MnemosyneMemoryService"]
