"""The rules behind `ghx-bench check`: what is wrong with the files of a project beyond their form."""
