"""Prints one line for each file below a directory: its name and everything about it that a restore must bring back. Argument: DIRECTORY."""
import hashlib, os, stat, sys


def entry(parent, name, path, seen):
    st = os.stat(name, dir_fd=parent, follow_symlinks=False)
    kind = stat.S_IFMT(st.st_mode)
    fields = [path.hex(), oct(st.st_mode), st.st_uid, st.st_gid, st.st_mtime_ns, st.st_nlink if kind != stat.S_IFDIR else 0]
    fd = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=parent)
    at = "/proc/self/fd/%d" % fd
    try:
        if kind == stat.S_IFLNK:
            fields.append(os.readlink(name if isinstance(name, bytes) else os.fsencode(name), dir_fd=parent).hex())
        else:
            for x in sorted(os.listxattr(at)):
                fields.append(x + "=" + os.getxattr(at, x).hex())
        if kind in (stat.S_IFCHR, stat.S_IFBLK):
            fields.append(st.st_rdev)
        if kind != stat.S_IFDIR and st.st_nlink > 1:
            fields.append("as " + seen.setdefault(st.st_ino, path).hex())
        if kind == stat.S_IFREG:
            fields.append(st.st_size)
            if st.st_blocks * 512 < st.st_size // 2:
                fields.append("sparse")
            if st.st_size < 1 << 32:
                digest = hashlib.sha256()
                with open(at, "rb") as f:
                    while data := f.read(1 << 20):
                        digest.update(data)
                fields.append(digest.hexdigest())
        print(*fields)
        if kind == stat.S_IFDIR:
            inner = os.open(at, os.O_RDONLY | os.O_DIRECTORY)
            for child in sorted(os.fsencode(c) for c in os.listdir(inner)):
                entry(inner, child, path + b"/" + child, seen)
            os.close(inner)
    finally:
        os.close(fd)


sys.setrecursionlimit(10000)
os.chdir(sys.argv[1])
entry(os.open(".", os.O_RDONLY), ".", b".", {})
