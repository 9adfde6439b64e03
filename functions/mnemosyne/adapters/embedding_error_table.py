"""Rules that classify errors of the embedding API: kind, cause and next step.

Words in braces are replaced by `gemini_errors.Explanations`. docs/service-errors.md has the same table, and a test
compares the two.
"""

from typing import Final

from mnemosyne.adapters.service_errors import CREDENTIALS, DIMENSION, UNREACHABLE, UNUSABLE, Kind, Rule

_T, _P, _M = Kind.TEMPORARY, Kind.PERMANENT, Kind.MISCONFIGURED
NEW_KEY: Final = (
    "add a valid key to the secret gemini_api_key_secret (GEMINI_API_KEY), set gemini_api_key_version and run "
    "`make deploy`"
)

EMBEDDING: Final = (
    Rule(
        "400|402|403",
        _P,
        "the project has a problem with its billing",
        "link the project, or the project of the API key, to an open billing account",
        "billing",
        concerns_all=True,
    ),
    Rule(
        f"400|{DIMENSION}",
        _M,
        "the model {model} does not support dimension {dimension}",
        "{another}; the dimension must be one that the model supports",
        message="dimension",
    ),
    Rule(
        f"400|401|403|{CREDENTIALS}",
        _M,
        "the Gemini API refuses the API key",
        f"{NEW_KEY}; or {{rights}}",
        message="API[ _]key",
        concerns_all=True,
    ),
    Rule(
        "400",
        _M,
        "the model {model} is not available at the location of this caller",
        "{elsewhere}leave gemini_api_key_secret empty to use Vertex AI and run `make deploy`; else {another}",
        message="user location",
        concerns_all=True,
    ),
    Rule(
        "400|403",
        _P,
        "a policy of the organization forbids this call",
        "ask an administrator of the organization to allow the model {model} in the organization policies, and its API "
        "in the service perimeter",
        message="organization(.s)? policy|violates constraint",
        concerns_all=True,
    ),
    Rule("404", _M, "the model {model} is not available {where}", "{elsewhere}{another}", concerns_all=True),
    Rule(
        "400",
        _M,
        "the model {model} is not available {where}",
        "{elsewhere}{another}",
        message=r"not (found|supported|available|offered|allowed to use)|unsupported|unavailable in|precondition",
    ),
    Rule(
        "403",
        _P,
        "the credentials have no quota project, or may not use it",
        "run `gcloud auth application-default set-quota-project PROJECT` with a project in which you have "
        "roles/serviceusage.serviceUsageConsumer",
        message="quota project|permission to use project",
    ),
    Rule(
        "403",
        _P,
        "the project {project} does not exist or is suspended",
        "restore the project, or correct GOOGLE_CLOUD_PROJECT",
        message="on resource project|has been (suspended|deleted)",
    ),
    Rule(
        "403",
        _P,
        "the embedding service refuses this deployment's credentials",
        "{credentials}",
        message="authentication scopes",
    ),
    Rule(
        "403",
        _P,
        "the embedding API is not enabled in project {project}",
        "{api}",
        message="has not been used|is disabled|SERVICE_DISABLED|not enabled",
    ),
    Rule(
        "403",
        _M,
        "the model {model} is restricted in this project",
        "{another}",
        message="legacy|restricted|allow-?list|deprecated|no longer|new (project|customer|user)s?",
    ),
    Rule("403", _P, "the model {model} may not be used {where}", "{rights}; else {another}"),
    Rule(f"401|{CREDENTIALS}", _P, "the embedding service refuses this deployment's credentials", "{credentials}"),
    Rule(
        "429",
        _P,
        "the project has a problem with its billing: its credits are used up, or its spending cap is reached",
        "buy credits or raise the spending cap in Google AI Studio; or leave gemini_api_key_secret empty to use "
        "Vertex AI and run `make deploy`",
        message=r"prepa(y|id)|spend(ing)? cap",
    ),
    Rule(
        "429",
        _P,
        "the quota of {model} {where} is zero",
        "request a quota; else {elsewhere}{another}",
        message=r"limit: 0\b|free quota tier",
    ),
    Rule(
        "429",
        _T,
        "the quota of {model} {where} is exhausted or zero",
        "request a higher quota, or lower max_instances.ingest and run `make deploy`",
    ),
    Rule("400|413", _P, "the model {model} refuses every text {where}", "check the project; else {elsewhere}{another}"),
    Rule(UNREACHABLE, _T, "the embedding service cannot be reached"),
    Rule(UNUSABLE, _T, "the embedding service returned an unusable answer"),
    Rule(".*", _T, "the embedding service does not work"),
)
"""Errors of the embedding API. After a 400, 413, 5xx, or an unusable or missing answer, another text is tried. If the
other text succeeds, the error concerns only the first text."""
