"""Noise mechanisms that algorithms share."""
