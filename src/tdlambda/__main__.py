"""`python -m tdlambda` is the `tdlambda` command."""

from tdlambda.lab.cli import main

if __name__ == "__main__":
    main()
