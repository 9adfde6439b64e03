"""What we build on: its pins and hashes, its licences, known vulnerabilities, and the SBOM."""
