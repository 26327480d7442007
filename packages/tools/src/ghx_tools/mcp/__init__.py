"""The capabilities as tools of the Model Context Protocol."""
