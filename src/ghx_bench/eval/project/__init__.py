"""The project that `ghx-bench init` writes; every file of it but this one."""
