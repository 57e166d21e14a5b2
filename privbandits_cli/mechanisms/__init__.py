"""The noise that algorithms share."""
