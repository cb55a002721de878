"""Prints the Debian packages whose programs are missing here, for tools/setup.sh."""

from penstock._doctor import find_program, programs

print(*(program.debian for program in programs() if not all(map(find_program, program.commands))))
