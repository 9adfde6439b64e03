"""The file that Cloud Functions loads. The functions are in `mnemosyne.app.functions`."""

import os

# Turn off Pydantic's plugins. To find plugins, Pydantic would read the metadata of every installed package. This would
# take a twentieth of the time between the start of the process and its first response.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

from mnemosyne.app.functions import auth, dead_letter, import_object, ingest, mcp, migrate

__all__ = ["auth", "dead_letter", "import_object", "ingest", "mcp", "migrate"]
