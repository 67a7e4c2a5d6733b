"""`python -m forward_lineage` is `forward-lineage`."""

from forward_lineage.cli import main

if __name__ == "__main__":
    main(prog_name="forward-lineage")
