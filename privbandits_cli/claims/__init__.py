"""Verdicts on what papers say."""
