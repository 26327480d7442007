"""The version of all five packages, which are released together."""

VERSION = "0.1.0"
