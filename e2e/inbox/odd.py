"""Makes a directory of files that are hard to back up: odd names, links, holes, attributes. Arguments: DIRECTORY, the number
of small files to add, the size of a large file in MiB."""
import os, random, socket, struct, sys

root, small, large = os.fsencode(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
os.makedirs(root)
os.chdir(root)
rnd = random.Random(7)


def write(name, data=b"x"):
    with open(name, "wb") as f:
        f.write(data)


# Names that are not UTF-8, have line breaks or escape sequences, or are as long as possible.
for name in (b"\xff\xfe\x80", b"line\nbreak\ttab", b"n" * 255, "é ü 漢".encode(), b" -rf $(x) `y` 'z' \"", b"\x01\x1b[31m"):
    write(name, name)

# A path longer than PATH_MAX.
for _ in range(20):
    os.mkdir(b"d" * 250)
    os.chdir(b"d" * 250)
write(b"deep", b"deep")
os.chdir(root)

# Hard links, symbolic links, a FIFO, a socket, an overlay's whiteout.
write(b"one", b"linked")
os.link(b"one", b"two")
os.mkdir(b"links")
os.link(b"one", b"links/three")
os.symlink(b"../../../../etc/passwd", b"out")
os.symlink(b"nowhere\xff", b"dangling")
os.symlink(b"t" * 4095, b"long target")
os.mkfifo(b"fifo", 0o640)
s = socket.socket(socket.AF_UNIX)
s.bind(b"socket")
os.mknod(b"whiteout", 0o20000, 0)

# Holes: at the start, in the middle, at the end, and a file that is one hole of 10 GiB.
with open(b"holes", "wb") as f:
    f.seek(1 << 20); f.write(b"a" * 5000); f.seek(9 << 20); f.write(b"b"); f.truncate(20 << 20)
with open(b"hole", "wb") as f:
    f.truncate(10 << 30)
write(b"empty", b"")

# Extended attributes, ACLs, capabilities, modes, owners, times.
write(b"xattr")
os.setxattr(b"xattr", b"user.hermes", bytes(range(256)))
os.setxattr(b"xattr", b"user.empty", b"")
os.setxattr(b"xattr", b"trusted.box", b"t" * 900)
entries = [(1, 6, 0xFFFFFFFF), (2, 4, 4711), (4, 4, 0xFFFFFFFF), (0x10, 6, 0xFFFFFFFF), (0x20, 0, 0xFFFFFFFF)]
acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries)
write(b"acl")
os.setxattr(b"acl", b"system.posix_acl_access", acl)
os.mkdir(b"default acl")
os.setxattr(b"default acl", b"system.posix_acl_default", acl)
write(b"capable")
os.setxattr(b"capable", b"security.capability", struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0))
write(b"setuid")
os.chown(b"setuid", 0, 4711)
os.chmod(b"setuid", 0o6711)
write(b"unreadable")
os.chmod(b"unreadable", 0)
os.mkdir(b"sticky")
os.chmod(b"sticky", 0o1777)
write(b"old")
os.utime(b"old", ns=(1, -1_000_000_000_000_000_001))

# Many small files, and a large one.
for n in range(small):
    if n % 1000 == 0:
        os.mkdir(b"small%d" % n)
    write(b"small%d/%d" % (n - n % 1000, n), rnd.randbytes(rnd.randrange(4096)))
with open(b"large", "wb") as f:
    for _ in range(large):
        f.write(rnd.randbytes(1 << 20))
os.sync()
