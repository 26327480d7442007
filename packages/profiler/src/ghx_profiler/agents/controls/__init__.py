"""Control agents: they verify scenarios and the bench itself, and measure nothing about agents."""
