"""Publish the lines of a JSONL file, each under its line number: python publish.py TOPIC NAMESPACE FILE."""

import sys
from collections import deque

from google.cloud.pubsub_v1 import PublisherClient
from google.cloud.pubsub_v1.types import BatchSettings, LimitExceededBehavior, PublisherOptions, PublishFlowControl

topic, namespace, file = sys.argv[1:]
flow = PublishFlowControl(message_limit=1000, limit_exceeded_behavior=LimitExceededBehavior.BLOCK)
options = PublisherOptions(enable_message_ordering=False, flow_control=flow)
publisher = PublisherClient(BatchSettings(max_messages=500, max_latency=0.05), options)
futures = deque()
with open(file, "rb") as lines:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue  # a message without data would become a dead letter
        futures.append(publisher.publish(topic, line, namespace=namespace, source=file, key=str(number)))
        while len(futures) > 2000:
            futures.popleft().result()  # raises an error if Pub/Sub did not accept it
for future in futures:
    future.result()
