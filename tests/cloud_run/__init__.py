"""Cloud Run as it behaves towards a function, and not as we would wish: the front end, identities and instances.

Everything that reaches a function over HTTP in these tests comes through here. What each behaviour is taken from
is in this package:

    identity.py   checks the caller and forwards the token without its signature
    headers.py    headers that the front end and Identity-Aware Proxy add to a request
    instance.py   one instance: the runtime's environment, no processor between requests, SIGTERM, ten seconds, SIGKILL
    service.py    a service of instances: concurrency, deadline, size, reserved paths, scaling
    pubsub.py     the push subscription's identity, which the emulator does not send
"""
