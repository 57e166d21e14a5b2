"""Privacy accounting: the ε and δ of mechanisms and of their composition."""
