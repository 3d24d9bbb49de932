"""Commands on files: what manifests, settings and examples say."""
