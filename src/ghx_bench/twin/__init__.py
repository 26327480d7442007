"""An embedded GitHub: worlds that real clients talk to over the wire; useful alone."""
