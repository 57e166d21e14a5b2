"""One step, written in plain Python for one trial, as machine code for several trials at once."""
