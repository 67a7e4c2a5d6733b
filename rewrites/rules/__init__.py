"""One rule an operator. A rule of a SELECT block edits the `Block`; order and reasons stand in `rewrites.driver`."""
