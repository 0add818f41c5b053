"""The tools at the edge: MLflow, Great Expectations, the Hub and DVC."""
