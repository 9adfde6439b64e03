# Ways in beside mcp, and the way out for outcomes. Run through the checker.

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

run "a_publisher_has_a_topic_of_its_own_whose_subscription_says_the_namespace" {
  command = plan

  assert {
    condition = alltrue([
      google_pubsub_topic.entry["publisher-crm"].name == "mnemosyne-publisher-crm",
      endswith(google_pubsub_subscription.entry["publisher-crm"].push_config[0].push_endpoint, "run.app/namespaces/support"),
      endswith(google_pubsub_subscription.entry_dead_letter["publisher-crm"].push_config[0].push_endpoint, "run.app/namespaces/support"),
      google_pubsub_subscription.entry["publisher-crm"].push_config[0].oidc_token[0].audience == google_cloudfunctions2_function.serving["ingest"].service_config[0].environment_variables["MNEMOSYNE_PUSH_AUDIENCE"],
    ])
    error_message = "The endpoint says whose memories they are, and the audience is the function's."
  }
  assert {
    condition     = { for key, grant in google_pubsub_topic_iam_member.entry_publisher : grant.member => key } == { "serviceAccount:crm@my-project.iam.gserviceaccount.com" = "crm serviceAccount:crm@my-project.iam.gserviceaccount.com" }
    error_message = "Its accounts may publish there, and nobody else."
  }
}

run "a_bucket_tells_of_its_objects_and_its_reader_may_read_and_report_and_nothing_else" {
  command = plan

  assert {
    condition = alltrue([
      google_storage_notification.object["exports"].bucket == "acme-exports",
      google_storage_notification.object["exports"].object_name_prefix == "memories/",
      one(google_storage_notification.object["exports"].event_types) == "OBJECT_FINALIZE",
      google_pubsub_topic_iam_member.notifies["exports"].role == "roles/pubsub.publisher",
    ])
    error_message = "Cloud Storage tells of each new object, and may."
  }
  assert {
    condition = alltrue([
      endswith(google_pubsub_subscription.entry["bucket-exports"].push_config[0].push_endpoint, "run.app/objects/archive"),
      google_pubsub_subscription.entry["bucket-exports"].ack_deadline_seconds == 600,
      google_pubsub_subscription.entry["bucket-exports"].dead_letter_policy[0].max_delivery_attempts == 100,
    ])
    error_message = "A large object takes many deliveries, each as long as Pub/Sub waits."
  }
  assert {
    condition     = [google_storage_bucket_iam_member.reads["acme-exports"].role, google_storage_bucket_iam_member.reports["acme-exports"].role] == ["roles/storage.objectViewer", "roles/storage.objectCreator"]
    error_message = "It overwrites and deletes nothing."
  }
  assert {
    condition     = output.connections_needed == 5 * 8 + 5 * 4 + 1 * 2 + 2 * 2 + 1 + 10
    error_message = "Its connections are counted: ${output.connections_needed}."
  }
}

run "outcomes_are_told_by_whoever_makes_them" {
  command = plan

  assert {
    condition     = toset([for grant in keys(google_pubsub_topic_iam_member.publishes) : grant if endswith(grant, " outcomes")]) == toset(["ingest outcomes", "dead-letter outcomes", "import-object outcomes"])
    error_message = "Each function that ends a request may say so."
  }
}

run "without_any_of_it_nothing_of_it_is_there" {
  command = plan

  variables {
    outcomes   = false
    publishers = {}
    buckets    = {}
  }

  assert {
    condition     = length(google_pubsub_topic.entry) + length(google_pubsub_topic.outcomes) + (contains(keys(google_cloudfunctions2_function.serving), "import-object") ? 1 : 0) + length(google_storage_notification.object) == 0
    error_message = "Nobody pays for what nobody asked for."
  }
}

run "everybody_is_no_publisher" {
  command = plan

  variables {
    publishers = { all = { namespace = "support", members = ["allUsers"] } }
  }

  expect_failures = [var.publishers]
}

run "a_namespace_that_no_path_can_say_is_refused" {
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

run "a_namespace_that_a_path_would_lose_is_refused" {
  command = plan

  variables {
    publishers = { crm = { namespace = "..", members = [] } }
  }

  expect_failures = [var.publishers]
}
