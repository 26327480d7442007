"""The mutations, one function each, by domain."""
