"""Agents that prove scenarios and the bench itself, and say nothing about agents."""
