"""The mathematics of best-arm identification: costs of confusion, lower bounds, thresholds, designs."""
