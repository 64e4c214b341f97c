"""Adds rows to two SQLite databases in DIRECTORY, one in WAL mode and one in rollback mode, until it is killed. After each
pair of commits it appends the time and the number of the last row of each to FILE, which must be on another disk.
Arguments: DIRECTORY, FILE."""
import os, sqlite3, sys, time

dbs = []
os.makedirs(sys.argv[1], exist_ok=True)
for mode in "wal", "delete":
    db = sqlite3.connect(os.path.join(sys.argv[1], mode + ".db"), isolation_level=None)
    db.execute("PRAGMA journal_mode=" + mode)
    db.execute("PRAGMA synchronous=NORMAL")
    db.execute("CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, filler BLOB)")
    dbs.append(db)
with open(sys.argv[2], "a", buffering=1) as acknowledged:
    while True:
        rows = [db.execute("INSERT INTO rows (filler) VALUES (randomblob(300))").lastrowid for db in dbs]
        acknowledged.write("%.3f %d %d\n" % (time.monotonic(), *rows))
        time.sleep(0.02)
