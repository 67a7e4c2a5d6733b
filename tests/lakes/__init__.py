"""Delta and Iceberg by their own engines: `python -m tests.lakes`, see `__main__`."""
