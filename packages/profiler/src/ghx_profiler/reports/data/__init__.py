"""What a report is made from: rows read once, counted, summarised and compared."""
