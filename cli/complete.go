package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"hermes-box/ops"
	"hermes-box/ops/backup"
)

// completesBackup makes the shell complete the first argument of a command to the backups of the box: latest, their ids
// and their labels. more says what the other arguments are, and the first one if no backup fits.
func (a *app) completesBackup(cmd *cobra.Command, more cobra.ShellCompDirective) *cobra.Command {
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, more
		}
		a.readsOnly = true
		b, err := a.openBox()
		if err != nil {
			return nil, more
		}
		list, err := b.Backups()
		if err != nil || len(list) == 0 {
			return nil, more
		}
		words, labels := []string{ops.Latest}, []string(nil)
		for _, e := range list {
			words = append(words, e.ID)
			if _, label, err := backup.ParseID(e.ID); err == nil && label != "" && !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
		}
		return append(words, labels...), more
	}
	return cmd
}
