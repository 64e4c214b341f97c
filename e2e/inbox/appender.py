"""Appends numbered lines to FILE until it is killed. A number is printed after its line was synced to the disk.
Argument: FILE."""
import itertools, os, sys

with open(sys.argv[1], "w") as file:
    for n in itertools.count(1):
        print(n, file=file, flush=True)
        os.fsync(file.fileno())
        print(n, flush=True)
