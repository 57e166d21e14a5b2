"""Pages and tables of results."""
