"""The only code every part shares: errors, records on the wire, documents on disk, the clock."""
