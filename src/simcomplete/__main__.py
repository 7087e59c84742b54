"""`python -m simcomplete` is the command line."""

from simcomplete._cli import main

if __name__ == "__main__":
    main()
