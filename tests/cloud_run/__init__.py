"""A fake of Cloud Run for tests: the front end, identities and instances.

In these tests each HTTP request to a function passes through this package. The modules name their sources:

    identity.py   checks the caller and forwards the token without its signature
    headers.py    headers that the front end and Identity-Aware Proxy add to a request
    instance.py   one instance: the runtime's environment, no processor between requests, SIGTERM, ten seconds, SIGKILL
    service.py    a service of instances: concurrency, deadline, size, reserved paths, scaling
    pubsub.py     the push subscription's identity, which the emulator does not send
"""
