"""`python -m trtplug` is `trtplug`."""

from trtplug.cli import main

main()
