"""Cloud Run as it behaves towards a function, and not as we would wish: the front end, identities and instances.

Everything that reaches a function over HTTP in these tests comes through here. What each behaviour is taken from
stands beside it:

    identity.py   who calls is checked in front, and the token is handed on without its signature
    headers.py    what the front end and Identity-Aware Proxy add to a request
    instance.py   one instance: the runtime's environment, no processor between requests, SIGTERM, ten seconds, SIGKILL
    service.py    a service of instances: concurrency, deadline, size, reserved paths, scaling
    pubsub.py     the push subscription's identity, which the emulator does not send
"""
