"""What produces the rounds of a game, one file each."""
