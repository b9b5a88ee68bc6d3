"""The version of this package, which is also that of the programs that it starts."""

__version__ = "0.1.0"
