"""One file a stage of dvc.yaml: read, call, write."""
