"""The checker applies the provider's rules beyond its schema; the other tests depend on it."""

from pathlib import Path

from tests.terraform.workspace import workspace

HEAD = """
terraform {
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 8.0"
    }
  }
}

variable "project" {
  type = string
}

variable "value" {
  type    = string
  default = ""
}
"""
INSTANCE = """
resource "google_sql_database_instance" "i" {
  name             = "i"
  database_version = "POSTGRES_17"
  settings {
    tier = "db-g1-small"
    ip_configuration {
      private_network = var.value == "" ? "projects/p/global/networks/n" : null
      ipv4_enabled    = var.value != ""
    }
  }
}
"""
SUBNETWORK = """
resource "google_compute_subnetwork" "s" {
  name          = "s"
  network       = "n"
  region        = "europe-west1"
  ip_cidr_range = var.value == "" ? "10.10.0.0/24" : "10.10.0.0/25"
}
"""
TOPIC = """
resource "google_pubsub_topic" "t" {
  name = "t${var.value}"
}
"""
DASHBOARD = """
resource "google_monitoring_dashboard" "d" {
  dashboard_json = jsonencode({ displayName = "d", xPos = 0 })
}
"""


def _module(tmp_path: Path, body: str) -> Path:
    (tmp_path / "main.tf").write_text(HEAD + body)
    return tmp_path


def test_changes_that_force_a_replacement_and_a_configured_zero_that_the_api_omits_are_planned(tmp_path: Path) -> None:
    """The API omits a configured zero, so each later plan shows it as a difference."""
    with workspace(_module(tmp_path, INSTANCE + SUBNETWORK + TOPIC + DASHBOARD)) as own:
        own.apply()
        assert own.plan(value="x").status == 2
        replaced = ("google_sql_database_instance.i", "google_compute_subnetwork.s", "google_pubsub_topic.t")
        assert own.changes() == {
            **{address: ["delete", "create"] for address in replaced},
            "google_monitoring_dashboard.d": ["update"],
        }


def test_other_keepers_replace_a_random_id_but_empty_keepers_change_it_in_place(tmp_path: Path) -> None:
    body = """
resource "random_id" "r" {
  byte_length = 3
  keepers     = var.value == "" ? null : var.value == "empty" ? {} : { level = var.value }
}
"""
    replaced = {"random_id.r": ["delete", "create"]}
    with workspace(_module(tmp_path, body)) as own:
        own.apply()
        assert [own.plan(value=value).status for value in ("", "empty")] == [0, 2]
        assert own.changes() == {"random_id.r": ["update"]}
        assert own.plan(value="HSM").status == 2
        assert own.changes() == replaced
        own.apply(value="HSM")
        for value in ("", "empty"):
            assert own.plan(value=value).status == 2
            assert own.changes() == replaced


def test_conflicting_arguments_are_refused(tmp_path: Path) -> None:
    body = """
resource "google_storage_bucket_object" "o" {
  name    = "o"
  bucket  = "b"
  content = "here"
  source  = "and there"
}
"""
    with workspace(_module(tmp_path, body)) as own:
        planned = own.plan()
    assert planned.status == 1
    assert "only one of `content,source`" in planned.printed


def test_values_that_the_api_refuses_together_are_refused(tmp_path: Path) -> None:
    body = """
resource "google_monitoring_uptime_check_config" "c" {
  display_name = "c"
  timeout      = "10s"
  http_check {
    request_method      = "POST"
    content_type        = var.value == "" ? null : "USER_PROVIDED"
    custom_content_type = var.value == "json" ? "application/json" : null
  }
}
"""
    with workspace(_module(tmp_path, body)) as own:
        refused = [own.plan(value=value) for value in ("", "other", "json")]
    assert [done.status for done in refused] == [1, 1, 2]
    assert "content_type is TYPE_UNSPECIFIED" in refused[0].printed
    assert "custom_content_type is not set" in refused[1].printed
