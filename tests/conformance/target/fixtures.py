"""The tools, resources and prompts that the official suite calls by name, as its scenarios describe them.

https://github.com/modelcontextprotocol/conformance (the descriptions that `conformance list` uses).
"""

import base64
from typing import Any

import mcp_types as types

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
WAV = base64.b64encode(b"RIFF\x24\x00\x00\x00WAVEfmt ").decode()

NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
WITH_HEADER: dict[str, Any] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "json_schema_2020_12_tool": SCHEMA_2020_12,
    "test_custom_headers": WITH_HEADER,
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
    "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
}


def text(content: str) -> types.TextContent:
    """A text."""
    return types.TextContent(type="text", text=content)


def embedded(uri: str, mime_type: str, content: str) -> types.EmbeddedResource:
    """A resource within an answer."""
    return types.EmbeddedResource(
        type="resource", resource=types.TextResourceContents(uri=uri, mime_type=mime_type, text=content)
    )


IMAGE = types.ImageContent(type="image", data=PNG, mime_type="image/png")
CONTENTS: dict[str, list[Any]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [types.AudioContent(type="audio", data=WAV, mime_type="audio/wav")],
    "test_embedded_resource": [
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
    "json_schema_2020_12_tool": [text("done")],
    "test_custom_headers": [text("done")],
}

RESOURCES = [
    types.Resource(name="text", uri="test://static-text", description="A text", mime_type="text/plain"),
    types.Resource(name="binary", uri="test://static-binary", description="An image", mime_type="image/png"),
    types.Resource(name="watched", uri="test://watched-resource", description="Watched", mime_type="text/plain"),
]
TEMPLATE = types.ResourceTemplate(
    name="template", uri_template="test://template/{id}/data", description="By id", mime_type="application/json"
)


def resource(uri: str) -> types.TextResourceContents | types.BlobResourceContents | None:
    """The resource's contents."""
    if uri == "test://static-text":
        content = "This is the content of the static text resource."
        return types.TextResourceContents(uri=uri, mime_type="text/plain", text=content)
    if uri == "test://static-binary":
        return types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
    if uri.startswith("test://template/") and uri.endswith("/data"):
        template_id = uri.removeprefix("test://template/").removesuffix("/data")
        content = f'{{"id":"{template_id}","templateTest":true,"data":"Data for ID: {template_id}"}}'
        return types.TextResourceContents(uri=uri, mime_type="application/json", text=content)
    return None


def _prompt(name: str, *arguments: str) -> types.Prompt:
    prompt_arguments = [
        types.PromptArgument(name=argument, description=argument, required=True) for argument in arguments
    ]
    return types.Prompt(name=name, description=name, arguments=prompt_arguments)


PROMPTS = [
    _prompt("test_simple_prompt"),
    _prompt("test_prompt_with_arguments", "arg1", "arg2"),
    _prompt("test_prompt_with_embedded_resource", "resourceUri"),
    _prompt("test_prompt_with_image"),
    _prompt("test_input_required_result_prompt"),
]


def prompt(name: str, values: dict[str, str]) -> list[Any]:
    """The prompt's text."""
    if name == "test_prompt_with_arguments":
        return [text(f"Prompt with arguments: arg1='{values['arg1']}', arg2='{values['arg2']}'")]
    if name == "test_prompt_with_embedded_resource":
        content = embedded(values["resourceUri"], "text/plain", "Embedded resource content for testing.")
        return [content, text("Please process the embedded resource above.")]
    if name == "test_prompt_with_image":
        return [IMAGE, text("Please analyze the image above.")]
    return [text("This is a simple prompt for testing.")]
