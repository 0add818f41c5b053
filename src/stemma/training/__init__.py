"""The training engine that every neural family and task runs on."""
