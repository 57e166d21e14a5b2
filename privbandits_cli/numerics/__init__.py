"""Compiled kernels, random streams, and the numbers that they draw."""
