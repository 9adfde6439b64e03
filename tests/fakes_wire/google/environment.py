"""The environment variables that make the real gcloud call only a fake of Google's APIs on loopback."""

import os
from pathlib import Path

from tests.forks import forked_gcloud

ENDPOINTS = {
    "ARTIFACTREGISTRY": "/",
    "CLOUDKMS": "/",
    "CLOUDRESOURCEMANAGER": "/",
    "CLOUDSCHEDULER": "/",
    "COMPUTE": "/compute/v1/",
    "LOGGING": "/",
    "ORGPOLICY": "/",
    "SECRETMANAGER": "/",
    "SERVICEUSAGE": "/",
    "SQL": "/",
    "STORAGE": "/storage/v1/",
    "WORKFLOWEXECUTIONS": "/",
    "WORKFLOWS": "/",
}


def gcloud_environment(host: str, home: Path) -> dict[str, str]:
    """Variables for a gcloud that keeps its configuration in `home` and calls the fake at `host`.

    gcloud's commands for Cloud Run add the region before the host name, which is not possible with a loopback address.
    They therefore get a host name that does not exist, and the fake as their proxy. All other calls to other machines
    also go to the fake, which refuses them.
    """
    token = home / "token"
    token.write_text("a-token")
    return {
        **forked_gcloud(),
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "CLOUDSDK_CONFIG": str(home / "gcloud"),
        "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": str(token),
        "CLOUDSDK_CORE_ACCOUNT": "operator@example.com",
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "1",
        "CLOUDSDK_CORE_CHECK_GCE_METADATA": "0",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "1",
        "CLOUDSDK_SURVEY_DISABLE_PROMPTS": "1",
        **{f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name}": f"http://{host}{path}" for name, path in ENDPOINTS.items()},
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_RUN": "http://run.invalid/",
        "http_proxy": f"http://{host}",
        "https_proxy": f"http://{host}",
        "no_proxy": host.partition(":")[0],
    }
