"""The adversaries, which produce the rounds of a game, one file each."""
