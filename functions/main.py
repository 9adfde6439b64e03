"""The file that Cloud Functions loads. The functions are in `mnemosyne.app.functions`."""

from mnemosyne.app.functions import auth, dead_letter, import_object, ingest, mcp, migrate

__all__ = ["auth", "dead_letter", "import_object", "ingest", "mcp", "migrate"]
