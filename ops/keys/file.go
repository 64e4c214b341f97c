package keys

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"golang.org/x/sys/unix"

	"hermes-box/ops/fault"
	"hermes-box/ops/store"
)

// fileStore keeps each identity in a file of mode 0600 in the state directory, as age-keygen writes it.
type fileStore struct{ home store.Home }

func (s fileStore) path(box string) string {
	return filepath.Join(dir(s.home), box+".age-identity")
}

func (s fileStore) Name() string { return File }

func (s fileStore) Where(ref Ref) string { return s.path(ref.Box) }

func (s fileStore) Get(_ context.Context, ref Ref) (string, error) {
	data, err := store.ReadFile(s.path(ref.Box), IdentityLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNotFound
	}
	if err != nil {
		return "", fmt.Errorf("read the identity of box %q: %w", ref.Box, err)
	}
	return lastLine(string(data)), nil
}

// Set writes the identity to another file and links that into place, so that the file is complete and nothing is
// replaced.
func (s fileStore) Set(ctx context.Context, ref Ref, identity string) error {
	path, beside := s.path(ref.Box), s.beside(ref.Box)
	if err := os.MkdirAll(dir(s.home), 0o700); err != nil {
		return err
	}
	if have, err := s.Get(ctx, ref); err == nil && have == identity {
		return nil
	}
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := WriteIdentity(beside, ref, identity); err != nil {
		return err
	}
	err := os.Link(beside, path)
	if errors.Is(err, fs.ErrExist) {
		err = fault.New(fault.AlreadyExists, "%s is there already, with the identity of another key", path).
			Hint("it may open backups, so keep it: mv %s %s", shellescape.Quote(path), shellescape.Quote(path+".old"))
	}
	return errors.Join(err, os.Remove(beside), store.SyncDir(dir(s.home)))
}

// Delete removes the file only if it holds this identity. It also removes what a killed Set has left.
func (s fileStore) Delete(ctx context.Context, ref Ref) error {
	gone := false
	for _, path := range []string{s.beside(ref.Box), s.path(ref.Box)} {
		if path == s.path(ref.Box) {
			switch _, err := Load(ctx, s, ref); {
			case errors.Is(err, ErrNotFound), fault.CodeOf(err) == fault.IntegrityFailed:
				continue
			case err != nil:
				return err
			}
		}
		if err := os.Remove(path); err == nil {
			gone = true
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if gone {
		return store.SyncDir(dir(s.home))
	}
	return nil
}

// beside returns the name of the file that Set writes first. If Set is killed, the next Set or Delete removes it.
func (s fileStore) beside(box string) string { return s.path(box) + ".new" }

// WriteIdentity writes an identity into a new file of mode 0600, in the format of age-keygen. It never replaces a file:
// if the path exists, it returns an error that wraps fs.ErrExist. If writing fails, it removes the new file.
func WriteIdentity(path string, ref Ref, identity string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(path)
		}
	}()
	if err := f.Chmod(0o600); err != nil { // whatever the umask is
		return err
	}
	if _, err := fmt.Fprintf(f, "# the key of the backups of box %s (hermes-box)\n# public key: %s\n%s\n", ref.Box, ref.Recipient, identity); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return store.SyncDir(filepath.Dir(path))
}

// lastLine returns the last line that is neither empty nor a comment.
func lastLine(text string) (last string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			last = line
		}
	}
	return last
}
