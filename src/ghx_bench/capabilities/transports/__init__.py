"""How bytes get to GitHub and back."""
