"""What a cell is measured in: a fork of the embedded world, or fixtures on github.com."""
