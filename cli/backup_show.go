package cli

import (
	"fmt"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"hermes-box/guest/protocol/tree"
	"hermes-box/internal/sanitize"
	"hermes-box/ops"
)

func (a *app) backupShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Args: cobra.ExactArgs(1),
		Short: "list the files in a backup",
		Long: `List the files in a backup: type, mode, size, time and path. A path is relative to /data and quoted for the shell, so that
it can be given to hermes-box backup get.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.readsOnly = true
			b, err := a.openBox()
			if err != nil {
				return err
			}
			a.warnOfClock(b, args[0])
			over := a.meanwhile("opening the backup")
			shown, err := b.ShowBackup(cmd.Context(), args[0])
			over()
			if err != nil {
				return err
			}
			return a.result("backup show", shown, func(p *printer) {
				for _, f := range shown.Files {
					p.line("%-7s  %04o  %9s  %s  %s", f.Type, f.Mode, fileSize(f), time.Unix(0, f.MTime).Format(time.DateTime), fileName(f))
				}
			})
		},
	}
}

// fileSize returns the size of a file as text; "-" for what has none.
func fileSize(f ops.BackupFile) string {
	if f.Type != tree.File {
		return "-"
	}
	return sizeText(f.Size)
}

// fileName returns the path of a file, quoted for the shell, and what it is a link to.
func fileName(f ops.BackupFile) string {
	name := string(f.Path)
	if f.Type == tree.Dir {
		name += "/"
	}
	if name[0] == '-' { // not a flag
		name = "./" + name
	}
	switch {
	case f.Type == tree.Symlink:
		return shellWord(name) + " -> " + shellWord(string(f.Target))
	case len(f.Link) > 0:
		return shellWord(name) + ", the same file as " + shellWord(string(f.Link))
	}
	return shellWord(name)
}

// shellWord quotes any bytes for a shell. If some of them cannot be printed, all bytes but printable ASCII become
// escapes of bash and zsh.
func shellWord(s string) string {
	if sanitize.Text(s) == s && !strings.ContainsAny(s, "\n\t") {
		return shellescape.Quote(s)
	}
	var out strings.Builder
	for _, c := range []byte(s) {
		switch {
		case c == '\\' || c == '\'':
			out.WriteString("\\" + string(rune(c)))
		case c < ' ' || c > '~':
			fmt.Fprintf(&out, "\\%03o", c)
		default:
			out.WriteByte(c)
		}
	}
	return "$'" + out.String() + "'"
}
