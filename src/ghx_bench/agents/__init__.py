"""Session providers: one module for each agent or protocol; they know no GitHub."""
