"""The rule of each operator, one group of operators a file, with its derivation."""
