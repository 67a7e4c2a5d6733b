"""From a statement to a DataFrame with `DL`: what names mean in a session, and how a rewritten statement is run."""
