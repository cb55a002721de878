"""`python -m penstock` is `penstock`."""

from penstock._cli.main import main

main()
