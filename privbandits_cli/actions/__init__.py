"""What each command does, as plain data."""
