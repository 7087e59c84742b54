"""`python -m simcomplete` is the command line."""

from simcomplete.cli import main

if __name__ == "__main__":
    main()
