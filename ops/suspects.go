package ops

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"hermes-box/guest/protocol/tree"
	"hermes-box/internal/spell"
	"hermes-box/limactl/ssh"
	"hermes-box/ops/backup"
	"hermes-box/ops/fault"
	"hermes-box/ops/suspect"
)

// suspects returns the suspicious MCP servers in a backup. It compares them with those in previous or, if that is nil,
// in the newest good backup before this one, if there is one. An error is only a warning.
func (b *Box) suspects(ctx context.Context, pool *backup.Pool, bundle, previous *backup.Bundle, p *Progress) []suspect.Entry {
	now, err := settings(ctx, bundle)
	var before suspect.Files
	switch {
	case err != nil:
	case previous != nil:
		before, err = settings(ctx, previous)
	default:
		before, err = b.settingsBefore(ctx, pool, bundle.ID)
	}
	if err != nil {
		p.Warn("the settings of the agents were not checked for suspicious MCP servers: " + err.Error())
		return []suspect.Entry{}
	}
	return suspect.Find(now, before)
}

// settingsBefore returns the settings in the newest good backup that is older than this one; nil if there is none.
func (b *Box) settingsBefore(ctx context.Context, pool *backup.Pool, id string) (suspect.Files, error) {
	list, err := backup.List(b.Pool())
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(list, func(e backup.Envelope) bool { return e.ID == id }); at >= 0 {
		list = list[:at]
	}
	for _, e := range slices.Backward(list) {
		if !e.Good() {
			continue
		}
		bundle, err := pool.Load(ctx, e.ID)
		if err != nil {
			return nil, err
		}
		files, err := settings(ctx, bundle)
		return files, errors.Join(err, bundle.Close())
	}
	return nil, nil
}

// settings returns the content of the files in a backup that package suspect reads.
func settings(ctx context.Context, bundle *backup.Bundle) (suspect.Files, error) {
	files := suspect.Files{}
	err := bundle.Names(func(name []byte) error {
		if suspect.Is(string(name)) {
			files[string(name)] = nil
		}
		return nil
	})
	for name := range files {
		if err == nil {
			files[name], err = setting(ctx, bundle, name)
		}
	}
	return files, err
}

// setting returns the content of a file in a backup. Symlinks are followed, as programs in the box would do; the
// content of a symlink that leads out of the backup is empty.
func setting(ctx context.Context, bundle *backup.Bundle, name string) ([]byte, error) {
	for range 8 { // more symlinks are a loop
		entry, data, err := bundle.Get(ctx, []byte(name))
		switch {
		case fault.CodeOf(err) == fault.NotFound:
			return nil, nil
		case err != nil:
			return nil, err
		case data != nil:
			text, err := io.ReadAll(io.LimitReader(data, suspect.MaxSize+1)) // a longer file is cut off
			return text, errors.Join(err, data.Close())
		case entry.Type != tree.Symlink:
			return nil, nil
		}
		name = followed(name, string(entry.Target))
	}
	return nil, nil
}

// followed returns the path in a backup that a symlink leads to.
func followed(link, target string) string {
	if !path.IsAbs(target) {
		return path.Join(path.Dir(link), target)
	}
	target = path.Clean(target)
	for _, mounted := range [][2]string{{"/data/", ""}, {"/workspace/", "home/agent/workspace/"}} {
		if rest, ok := strings.CutPrefix(target, mounted[0]); ok {
			return mounted[1] + rest
		}
	}
	return target[1:] // /home/agent is home/agent on the data disk
}

// findSettings prints the settings of the agents: for each file its path and its content in base64, each followed by
// NUL.
const findSettings = `cd && find -L . -maxdepth 6 \( -name node_modules -o -name .git -o -name .cache \) -prune -o \
\( -name .claude.json -o -name .mcp.json -o -path '*/.hermes/config.yaml' -o -path '*/.codex/config.toml' \) -type f -size -16M -print0 |
xargs -0 -r sh -c 'for f; do printf "%s\0" "$f"; base64 <"$f" | tr -d "\n"; printf "\0"; done' sh`

// checkSettings looks for suspicious MCP servers in the settings of the agents, as they are now.
func (in *insideChecks) checkSettings(ctx context.Context) Check {
	var out, errs bytes.Buffer
	err := in.Lima.Exec(ctx, in.Record.Instance, ssh.Exec{Args: []string{"sh", "-c", findSettings}, Stdout: &out, Stderr: &errs})
	if err != nil {
		return unknown(fmt.Errorf("the settings cannot be read: %w", err), "hermes-box doctor")
	}
	files := suspect.Files{}
	fields := strings.Split(out.String(), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		text, err := base64.StdEncoding.DecodeString(fields[i+1])
		if err != nil {
			return unknown(fmt.Errorf("the settings in %s cannot be read: %w", fields[i], err), "hermes-box doctor")
		}
		files[path.Join("home/agent", fields[i])] = text
	}
	found := suspect.Find(files, nil)
	if len(found) == 0 {
		return pass("nothing suspicious now in " + spell.Count(len(files), "file"))
	}
	var all []string
	for _, e := range found {
		all = append(all, e.String())
	}
	return warn(strings.Join(all, "; "), "look at it: hermes-box exec -- cat "+shellescape.Quote("/"+found[0].Path))
}
