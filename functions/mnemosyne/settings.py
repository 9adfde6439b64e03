"""The only file that reads the environment: parsed once into a frozen value, all problems in one error."""

import os
from collections.abc import Mapping
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from mnemosyne.errors import Misconfigured

PREFIX = "MNEMOSYNE_"
_LOOPBACK_HOSTS = "localhost:*,127.0.0.1:*,[::1]:*,localhost,127.0.0.1,[::1]"
_LOOPBACK_ORIGINS = "http://localhost:*,http://127.0.0.1:*,http://[::1]:*"


class Settings(BaseModel):
    """What the operator chose; each field is the variable `MNEMOSYNE_<FIELD>`."""

    model_config = ConfigDict(frozen=True)

    database_url: str = Field(description="postgresql://user[:password]@host[:port]/name[?host=/socket/dir]")
    db_pool_size: int = Field(8, ge=1, le=100, description="connections one function instance may hold")
    topic: str = Field(
        description="where accepted requests are published: projects/P/topics/T, or a local queue's file:///path"
    )
    embedder: Literal["gemini", "offline"] = Field("offline", description="which embedder turns text into vectors")
    embedding_model: str = Field("gemini-embedding-001", description="the Gemini model; the offline one is fixed")
    embedding_dimension: int = Field(256, ge=1, le=3072, description="fixed when the schema is created")
    offline_statistics: str = Field(
        "", description="file in which the offline embedder counts token frequencies; empty: it does not"
    )
    allowed_hosts: tuple[str, ...] = Field(
        tuple(_LOOPBACK_HOSTS.split(",")),
        description="comma-separated Host headers served; `name:*` is any port",
    )
    allowed_origins: tuple[str, ...] = Field(
        tuple(_LOOPBACK_ORIGINS.split(",")), description="comma-separated Origin headers served"
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if not self.database_url.startswith(("postgresql://", "postgres://")):
            raise ValueError("MNEMOSYNE_DATABASE_URL must start with postgresql://")
        if not self.topic.startswith(("projects/", "file:///")):
            raise ValueError(f"MNEMOSYNE_TOPIC must be projects/P/topics/T or file:///path, got {self.topic!r}")
        return self

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Read the settings; raises Misconfigured naming every problem at once."""
        given: dict[str, object] = {}
        for name in cls.model_fields:
            if value := environment.get(PREFIX + name.upper(), "").strip():
                is_list = name in ("allowed_hosts", "allowed_origins")
                given[name] = tuple(v.strip() for v in value.split(",") if v.strip()) if is_list else value
        try:
            return cls.model_validate(given)
        except ValidationError as exc:
            raise Misconfigured("settings: " + "; ".join(_problem(dict(e)) for e in exc.errors())) from exc


def _problem(error: dict[str, object]) -> str:
    location = error["loc"]
    if not isinstance(location, tuple) or not location:
        return str(error["msg"]).removeprefix("Value error, ")
    variable = PREFIX + str(location[0]).upper()
    if error["type"] == "missing":
        field = Settings.model_fields[str(location[0])]
        return f"{variable} is not set ({field.description})"
    return f"{variable}: {error['msg']}, got {error['input']!r}"
