"""A fake OpenTelemetry collector: it accepts OTLP metrics over HTTP and keeps the last value of each series."""

from collections.abc import Mapping
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from tests.fakes_wire.http import JsonServer

Series = tuple[str, frozenset[tuple[str, str]]]


class Collector(JsonServer):
    """Collector of cumulative metrics: a later export of a series replaces the earlier one."""

    def __init__(self) -> None:
        super().__init__()
        self.resources: list[dict[str, str]] = []
        self.counts: dict[Series, float] = {}
        """The value of each series: of a counter, its sum; of a histogram, the number of its values."""
        self.sums: dict[Series, float] = {}
        """For each series of a histogram: the sum of its values."""

    def answer(self, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, Any]:
        if path != "/v1/metrics":
            return 404, {}
        request = ExportMetricsServiceRequest()
        request.ParseFromString(body)  # type: ignore[no-untyped-call]
        for resource in request.resource_metrics:
            self.resources.append(
                {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
            )
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    self._keep(metric)
        return 200, {}

    def _keep(self, metric: Metric) -> None:
        for counted in metric.sum.data_points:
            self.counts[metric.name, _attributes(counted.attributes)] = counted.as_int
        for measured in metric.histogram.data_points:
            series = metric.name, _attributes(measured.attributes)
            self.counts[series], self.sums[series] = measured.count, measured.sum

    def count(self, metric: str, **attributes: str) -> float:
        """Return the number of measurements in the metric's series with these attributes."""
        return sum(n for (name, had), n in self.counts.items() if name == metric and had >= set(attributes.items()))

    def sum(self, metric: str, **attributes: str) -> float:
        """Return the sum of the measured values of the metric's series with these attributes."""
        return sum(n for (name, had), n in self.sums.items() if name == metric and had >= set(attributes.items()))


def _attributes(listed: Any) -> frozenset[tuple[str, str]]:
    return frozenset((attribute.key, attribute.value.string_value) for attribute in listed)
