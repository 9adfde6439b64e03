"""Publish the lines of a JSONL file, each under its line number: python publish.py TOPIC NAMESPACE FILE."""

import sys

from google.cloud.pubsub_v1 import PublisherClient
from google.cloud.pubsub_v1.types import BatchSettings, LimitExceededBehavior, PublisherOptions, PublishFlowControl

topic, namespace, file = sys.argv[1:]
flow = PublishFlowControl(message_limit=1000, limit_exceeded_behavior=LimitExceededBehavior.BLOCK)
options = PublisherOptions(enable_message_ordering=False, flow_control=flow)
publisher = PublisherClient(BatchSettings(max_messages=500, max_latency=0.05), options)
with open(file, "rb") as lines:
    about = {"namespace": namespace, "source": file}
    sent = [publisher.publish(topic, line, key=str(number), **about) for number, line in enumerate(lines, 1)]
print(f"{len([one.result() for one in sent])} messages taken")  # result() raises where one was not
