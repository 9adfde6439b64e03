"""A Beam pipeline that publishes rows as memories: python beam_publish.py TOPIC NAMESPACE FILE [--runner=…]."""

import json
import sys
from collections.abc import Iterator

import apache_beam as beam
from apache_beam.io.gcp.pubsub import PubsubMessage, WriteToPubSub
from apache_beam.options.pipeline_options import PipelineOptions

SOURCE = "https://crm.example.com/tickets"


def messages(lines: list[str], namespace: str) -> Iterator[PubsubMessage]:
    """Yield one message of up to 100 rows. If a runner publishes it twice, each row is stored once, by its key."""
    rows = [json.loads(line) for line in lines]
    memories = [
        {"key": row["id"], "content": row["text"], "timestamp": row["created_at"], "tags": ["ticket"]} for row in rows
    ]
    data = json.dumps({"source": SOURCE, "memories": memories}).encode()
    yield PubsubMessage(data, {"namespace": namespace})


def run(topic: str, namespace: str, file: str, *arguments: str) -> None:
    """Publish the file's rows."""
    with beam.Pipeline(options=PipelineOptions(list(arguments))) as pipeline:
        (
            pipeline
            | beam.io.ReadFromText(file)
            | beam.BatchElements(min_batch_size=100, max_batch_size=100)
            | beam.FlatMap(messages, namespace)
            | WriteToPubSub(topic, with_attributes=True)
        )


if __name__ == "__main__":
    run(*sys.argv[1:])
