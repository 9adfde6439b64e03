"""The server's icon, as data URLs, because the server has no public address for files."""

import base64

import mcp_types

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48"><rect width="48" height="48" rx="10" fill="#27386b"/>'
    '<path d="M11 35V14l13 12 13-12v21" fill="none" stroke="#fff" stroke-width="4" stroke-linejoin="round" '
    'stroke-linecap="round"/><circle cx="24" cy="12" r="3" fill="#f2b84b"/></svg>'
)
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAADAAAAAwCAYAAABXAvmHAAABuElEQVR42u2aoZKDMBCGI/sYJytPVlYikcjKypOVyMpK5EkkEllZ"
    "WRmJRPIGufwMc8PRAHspISzDzvwzmTTZ7NfJJpkEIQz2cTjvtCKtVEtqKU+STQyIZScophuGWoXHoPuEmMKhwKHbAgPvCjEaATgE"
    "/wthmjaKmcJ2whYMAYo6sZsMV0wViWaZ4gqQCs/r/Nv7hHDheK+VxJEqs6AWyntHEE4AEHCVB3+EOjYA+Ne7AKjzBnC+JKosq1oo"
    "uwL47zhkADhsW3xNJ59C8Nk2jDkZgMluSTZZEsOXyZwCwL7T/O05DB995hwAluUPqyUSfdB3yGYBgOX3p/o8fpGDR1v0GTNnAN2k"
    "hj2ekgSBNmhL8ekM4BjGShblS72UhToEl14/+A1tXvppX/A5GwAlmK4PCvSsAGPTIWhBoEyZdrMDDCVkVVUqOl1roUxJfC8AQ0si"
    "4jbE3rv0egOgbEqUzc87wNCxYOz4sRgA08GMcgBcFIDt0XhRADbaADaADWADWClA+yRJvS2wuk+yGEe42pRs5OxeaMlaBQD763X2"
    "Dxzsn5h4P/Kxf2ZdxUP3Kj41YP+xB9fPbX4Ai2ETCXTLQvUAAAAASUVORK5CYII="
)
"""The icon with 48 by 48 pixels, in base64. Every client must support PNG."""


def icons() -> list[mcp_types.Icon]:
    """Return the icon as PNG and SVG.

    The field `sizes` is left out. The SDKs of September 2025 (TypeScript 1.18, Python 1.15) require a text in this
    field, newer SDKs require an array, and an SDK that gets the wrong type fails to connect.
    """
    svg = base64.b64encode(SVG.encode()).decode()
    return [
        mcp_types.Icon(src=f"data:image/png;base64,{PNG}", mime_type="image/png"),
        mcp_types.Icon(src=f"data:image/svg+xml;base64,{svg}", mime_type="image/svg+xml"),
    ]
