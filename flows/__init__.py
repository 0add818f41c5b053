"""Prefect flows: when stages run, side by side with what, and what follows."""
