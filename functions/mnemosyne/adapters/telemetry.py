"""Export counters and latencies of logged events to an OpenTelemetry collector.

The metric `mnemosyne.events` counts events. The metric `mnemosyne.duration` records durations in seconds, from the
event fields whose names end in `_ms`. The attribute `stage` of this metric is the field's name without `_ms`. Both
metrics have more attributes: the event's name, and the event's fields that have few possible values. No attribute is an
id, a namespace or a text. The exporter reads its endpoint and headers from OpenTelemetry's environment variables:
https://opentelemetry.io/docs/specs/otel/protocol/exporter/.
"""

import threading
from collections.abc import Mapping
from uuid import uuid4

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource

import mnemosyne
from mnemosyne.domain.audit import ACCESS
from mnemosyne.observability import listen

_FIELDS_OF_FEW_VALUES = ("tool", "action", "outcome", "state", "mode", "strategy")
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_MS = "_ms"
LAST_EXPORT_SECONDS = 3.0
"""Maximum seconds for the last export. Cloud Run gives a process 10 seconds to end."""


def export(service: str) -> None:
    """Export metrics of log events every minute and when the process ends.

    The event ACCESS is left out, because the event `tool_called` counts the same calls.

    `service` is the OpenTelemetry service name of the metrics, unless OTEL_SERVICE_NAME is set.
    """
    # Each instance counts separately: without a unique id, instances would overwrite each other's metrics.
    own = Resource.create(
        {"service.name": service, "service.version": mnemosyne.__version__, "service.instance.id": str(uuid4())}
    )
    provider = MeterProvider(
        [PeriodicExportingMetricReader(OTLPMetricExporter())],
        own.merge(OTELResourceDetector().detect()),
        shutdown_on_exit=False,
    )
    meter = provider.get_meter("mnemosyne", mnemosyne.__version__)
    events = meter.create_counter("mnemosyne.events", unit="{event}", description="Number of log events, by event")
    durations = meter.create_histogram(
        "mnemosyne.duration",
        unit="s",
        description="Duration of the stages of events",
        explicit_bucket_boundaries_advisory=_SECONDS,
    )

    def count(event: str, fields: Mapping[str, object]) -> None:
        if event == ACCESS:  # the event `tool_called` counts the same call
            return
        attributes = {"event": event} | {
            name: str(fields[name]) for name in _FIELDS_OF_FEW_VALUES if fields.get(name) is not None
        }
        events.add(1, attributes)
        for name, value in fields.items():
            if name.endswith(_MS) and isinstance(value, int | float):
                durations.record(value / 1000, {**attributes, "stage": name.removesuffix(_MS)})

    def flush() -> None:
        # Export in a thread and wait at most LAST_EXPORT_SECONDS for it. The exporter's own timeout is longer, so a
        # collector that hangs would delay the end of the process.
        sending = threading.Thread(target=provider.force_flush, name="last-export", daemon=True)
        sending.start()
        sending.join(LAST_EXPORT_SECONDS)

    listen(count, flush)
