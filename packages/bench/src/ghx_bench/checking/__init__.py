"""The rules of `ghx-bench check`: errors in files of a project that their schemas do not find."""
