"""One rule an operator. A rule of a SELECT block takes the `Block` and edits it; their order and its reasons stand in `rewrites.driver`."""
