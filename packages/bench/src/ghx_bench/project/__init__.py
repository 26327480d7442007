"""The files of a project: configuration, scenarios, sets, custom scorers and agents."""
