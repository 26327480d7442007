"""The sections of a report, each in the module that is named as its heading."""
