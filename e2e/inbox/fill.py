"""Fills a directory with files like those of a workspace, and replaces files that exist. Arguments: DIRECTORY, the amount of
data in MiB, the seed of the random data."""
import os, random, sys

root, mib, rnd = sys.argv[1], int(sys.argv[2]), random.Random(int(sys.argv[3]))
words = [b"%x" % rnd.getrandbits(rnd.randrange(4, 40)) for _ in range(5000)]
os.makedirs(root, exist_ok=True)


def text(size):
    return b" ".join(rnd.choices(words, k=size // 5))[:size]


with open(os.path.join(root, "random"), "wb") as f:
    for _ in range(mib // 3):
        f.write(rnd.randbytes(1 << 20))
for n in range(mib // 3):
    with open(os.path.join(root, "text%d" % n), "wb") as f:
        f.write(text(1 << 20))
for n in range(mib * 20):
    if n % 500 == 0:
        os.makedirs(os.path.join(root, "d%d" % n), exist_ok=True)
    with open(os.path.join(root, "d%d" % (n - n % 500), "%d" % n), "wb") as f:
        f.write(text(rnd.randrange(34000)))
os.sync()
