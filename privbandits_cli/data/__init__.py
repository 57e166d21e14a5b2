"""Files of a user's own data, and the adversaries that play them."""
