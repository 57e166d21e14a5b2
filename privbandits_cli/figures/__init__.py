"""Figures of results folders: their data, their styles and scales, and how they are drawn."""
