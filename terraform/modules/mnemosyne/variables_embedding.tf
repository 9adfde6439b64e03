variable "embedding_model" {
  description = "Gemini model that embeds text: gemini-embedding-2 or gemini-embedding-001. To change the model of stored memories, run `mnemosyne reembed`."
  type        = string
  default     = "gemini-embedding-2"
  nullable    = false

  validation {
    condition     = contains(["gemini-embedding-2", "gemini-embedding-001"], var.embedding_model)
    error_message = "embedding_model must be gemini-embedding-2 or gemini-embedding-001, got ${var.embedding_model}."
  }
}

variable "embedding_dimension" {
  description = "Length (number of dimensions) of the embeddings. The first apply creates the schema with this length. Later, `mnemosyne reembed` changes the length."
  type        = number
  default     = 768
  nullable    = false

  validation {
    condition     = var.embedding_dimension >= 128 && var.embedding_dimension <= 3072 && floor(var.embedding_dimension) == var.embedding_dimension
    error_message = "embedding_dimension must be a whole number between 128 and 3072, the limits of both models, got ${var.embedding_dimension}."
  }
}

variable "embedding_location" {
  description = "Vertex AI location that embeds text: eu, us, global or a region. Empty: eu for a region in Europe, us for a region in the United States, otherwise global. A region may lack a model. The migration embeds one word, and fails if the location does not have embedding_model."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = contains(concat(["", "global", "eu", "us"], local.regions), var.embedding_location)
    error_message = "embedding_location must be eu, us, global or a region, got ${var.embedding_location}. Add a newer region to terraform/modules/mnemosyne/regions.tf."
  }
  validation {
    condition     = var.embedding_location == "" || var.gemini_api_key_secret == ""
    error_message = "embedding_location is for Vertex AI, and gemini_api_key_secret selects the Gemini API: set one of them, got ${var.embedding_location} and ${var.gemini_api_key_secret}."
  }
}

variable "gemini_api_key_secret" {
  description = "Secret of Secret Manager in this project that contains a key of the Gemini API; empty: Vertex AI, with the service accounts of the functions."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{0,255}$", var.gemini_api_key_secret))
    error_message = "gemini_api_key_secret must be the name of a secret in this project, without projects/…/secrets/, got ${var.gemini_api_key_secret}."
  }
}

variable "gemini_api_key_version" {
  description = "Version of gemini_api_key_secret. If you set a new number, an apply creates new revisions of the functions, which read the new key. With latest, running instances keep the old key, and only instances that start later read the new key."
  type        = string
  default     = "latest"
  nullable    = false

  validation {
    condition     = can(regex("^(latest|[1-9][0-9]*)$", var.gemini_api_key_version))
    error_message = "gemini_api_key_version must be a version number or latest, got ${var.gemini_api_key_version}."
  }
}

variable "reranking_model" {
  description = "Model of Vertex AI's ranking API that reorders search results, such as semantic-ranker-fast-004; empty: no reranking. Queries and results are sent to the global endpoint of this API."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.reranking_model == "" || startswith(var.reranking_model, "semantic-ranker-")
    error_message = "reranking_model must be a model of the ranking API, such as semantic-ranker-fast-004, got ${var.reranking_model}: https://cloud.google.com/generative-ai-app-builder/docs/ranking#models"
  }
}
