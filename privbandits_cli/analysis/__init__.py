"""What came out: statistics, CSVs, figures."""
