# Tests of the resources for publishers, for imports from buckets, and for outcomes. tests/terraform runs them.

mock_provider "google" {
  mock_resource "google_service_account" {
    defaults = {
      name   = "projects/p/serviceAccounts/a@p.iam.gserviceaccount.com"
      email  = "a@p.iam.gserviceaccount.com"
      member = "serviceAccount:a@p.iam.gserviceaccount.com"
    }
  }
}

mock_provider "google-beta" {}

variables {
  project        = "my-project"
  project_number = "123456789012"
  outcomes       = true
  publishers = {
    crm = { namespace = "support", members = ["serviceAccount:crm@my-project.iam.gserviceaccount.com"] }
  }
  buckets = {
    exports = { bucket = "acme-exports", namespace = "archive", prefix = "memories/" }
  }
}

run "a_publisher_has_its_own_topic_whose_endpoint_names_the_namespace" {
  command = plan

  assert {
    condition = alltrue([
      google_pubsub_topic.entry["publisher-crm"].name == "mnemosyne-publisher-crm",
      endswith(google_pubsub_subscription.entry["publisher-crm"].push_config[0].push_endpoint, "run.app/namespaces/support"),
      endswith(google_pubsub_subscription.entry_dead_letter["publisher-crm"].push_config[0].push_endpoint, "run.app/namespaces/support"),
      google_pubsub_subscription.entry["publisher-crm"].push_config[0].oidc_token[0].audience == google_cloudfunctions2_function.serving["ingest"].service_config[0].environment_variables["MNEMOSYNE_PUSH_AUDIENCE"],
    ])
    error_message = "The endpoint names the namespace, and the audience is the function."
  }
  assert {
    condition     = { for key, grant in google_pubsub_topic_iam_member.entry_publisher : grant.member => key } == { "serviceAccount:crm@my-project.iam.gserviceaccount.com" = "crm serviceAccount:crm@my-project.iam.gserviceaccount.com" }
    error_message = "Only its members may publish to its topic."
  }
}

run "a_bucket_reports_its_objects_and_import_object_can_read_and_create_only" {
  command = plan

  assert {
    condition = alltrue([
      google_storage_notification.object["exports"].bucket == "acme-exports",
      google_storage_notification.object["exports"].object_name_prefix == "memories/",
      one(google_storage_notification.object["exports"].event_types) == "OBJECT_FINALIZE",
      google_pubsub_topic_iam_member.notifies["exports"].role == "roles/pubsub.publisher",
    ])
    error_message = "Cloud Storage must report each new object, and have the right to."
  }
  assert {
    condition = alltrue([
      endswith(google_pubsub_subscription.entry["bucket-exports"].push_config[0].push_endpoint, "run.app/objects/archive"),
      google_pubsub_subscription.entry["bucket-exports"].ack_deadline_seconds == 600,
      google_pubsub_subscription.entry["bucket-exports"].dead_letter_policy[0].max_delivery_attempts == 100,
      google_pubsub_subscription.entry_dead_letter["bucket-exports"].push_config[0].push_endpoint == google_pubsub_subscription.entry["bucket-exports"].push_config[0].push_endpoint,
      google_pubsub_subscription.entry_dead_letter["bucket-exports"].ack_deadline_seconds == 600,
    ])
    error_message = "A large object takes many deliveries of the longest deadline."
  }
  assert {
    condition     = [google_storage_bucket_iam_member.reads["acme-exports"].role, google_storage_bucket_iam_member.reports["acme-exports"].role] == ["roles/storage.objectViewer", "roles/storage.objectCreator"]
    error_message = "import-object must not overwrite or delete."
  }
  assert {
    condition = alltrue([
      for grant in [google_storage_bucket_iam_member.reads["acme-exports"], google_storage_bucket_iam_member.reports["acme-exports"]] :
      grant.condition[0].expression == "resource.type == \"storage.googleapis.com/Bucket\" || resource.name.startsWith(\"projects/_/buckets/acme-exports/objects/memories/\")"
    ])
    error_message = "import-object reads and creates under the prefix only."
  }
  assert {
    condition     = output.connections_needed == 5 * 8 + 5 * 4 + 1 * 2 + 2 * 2 + 3 + 10
    error_message = "Its connections are counted: ${output.connections_needed}."
  }
}

run "prefixes_of_a_bucket_become_one_iam_condition" {
  command = plan

  variables {
    buckets = {
      notes  = { bucket = "acme-exports", namespace = "notes", prefix = "notes/" }
      quoted = { bucket = "acme-exports", namespace = "quoted", prefix = "a\"b/" }
      whole  = { bucket = "acme-whole", namespace = "whole" }
    }
  }

  assert {
    condition     = google_storage_bucket_iam_member.reads["acme-exports"].condition[0].expression == "resource.type == \"storage.googleapis.com/Bucket\" || resource.name.startsWith(\"projects/_/buckets/acme-exports/objects/notes/\") || resource.name.startsWith(\"projects/_/buckets/acme-exports/objects/a\\\"b/\")"
    error_message = "Each prefix is readable: ${google_storage_bucket_iam_member.reads["acme-exports"].condition[0].expression}"
  }
  assert {
    condition     = length(google_storage_bucket_iam_member.reads["acme-whole"].condition) == 0
    error_message = "A bucket without a prefix needs no uniform bucket-level access."
  }
}

run "each_function_that_ends_a_request_can_publish_its_outcome" {
  command = plan

  assert {
    condition     = toset([for grant in keys(google_pubsub_topic_iam_member.publishes) : grant if endswith(grant, " outcomes")]) == toset(["ingest outcomes", "dead-letter outcomes", "import-object outcomes", "migrate outcomes"])
    error_message = "The first three end requests, and migrate publishes changes of memories."
  }
  assert {
    condition     = google_cloud_scheduler_job.migrate["announce"].schedule == "* * * * *" && endswith(google_cloud_scheduler_job.migrate["announce"].http_target[0].uri, "/announce")
    error_message = "Changes of memories are published every minute."
  }
}

run "without_publishers_buckets_and_outcomes_no_resource_of_them_exists" {
  command = plan

  variables {
    outcomes   = false
    publishers = {}
    buckets    = {}
  }

  assert {
    condition     = length(google_pubsub_topic.entry) + length(google_pubsub_topic.outcomes) + (contains(keys(google_cloud_scheduler_job.migrate), "announce") ? 1 : 0) + (contains(keys(google_cloudfunctions2_function.serving), "import-object") ? 1 : 0) + length(google_storage_notification.object) == 0
    error_message = "They cost nothing unless they are used."
  }
  assert {
    condition     = google_cloud_scheduler_job.migrate["expire"].schedule == "*/15 * * * *" && endswith(google_cloud_scheduler_job.migrate["expire"].http_target[0].uri, "/expire")
    error_message = "Expired rows are removed four times an hour, with or without outcomes."
  }
}

run "all_users_cannot_publish" {
  command = plan

  variables {
    publishers = { all = { namespace = "support", members = ["allUsers"] } }
  }

  expect_failures = [var.publishers]
}

run "a_namespace_that_no_path_can_contain_is_refused" {
  command = plan

  variables {
    publishers = { crm = { namespace = "a/b", members = [] } }
    buckets    = { exports = { bucket = "acme-exports", namespace = "a b" } }
  }

  expect_failures = [var.publishers, var.buckets]
}

run "names_and_prefixes_that_would_collide_are_refused" {
  command = plan

  variables {
    publishers = { crm-dead-letter = { namespace = "support", members = [] } }
    buckets = {
      all  = { bucket = "acme-exports", namespace = "archive" }
      some = { bucket = "acme-exports", namespace = "support", prefix = "memories/" }
    }
  }

  expect_failures = [var.publishers, var.buckets]
}

run "a_namespace_that_is_a_relative_path_is_refused" {
  command = plan

  variables {
    publishers = { crm = { namespace = "..", members = [] } }
  }

  expect_failures = [var.publishers]
}

run "the_path_of_an_endpoint_is_a_valid_path_of_a_url" {
  command = plan

  variables {
    publishers = { crm = { namespace = "auth0|42", members = [] } }
  }

  assert {
    condition = alltrue([
      for subscription in [google_pubsub_subscription.entry["publisher-crm"], google_pubsub_subscription.entry_dead_letter["publisher-crm"]] :
      endswith(subscription.push_config[0].push_endpoint, "run.app/namespaces/auth0%7C42")
    ])
    error_message = "RFC 3986 allows no | in a path."
  }
}
