"""`python -m bnfuzz`."""

from bnfuzz.cli import main

if __name__ == "__main__":
    main()
