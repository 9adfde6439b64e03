"""The log events of faults that lack some of the usual fields, each with the reason."""

LISTED = {
    "audit": "refused calls: `reason` is the cause, and the runbook has the next step for each action and reason",
}
"""Log events that have the fields for cause, error and next step only if an operator must act."""
WITHOUT_ERROR = {
    "ingest_failed": "the error may quote the memory; the status of the request has it",
}
"""Events without the field `error`."""
