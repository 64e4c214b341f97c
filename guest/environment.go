package guest

import (
	"context"
	"strings"
)

// environmentFile reaches every login and every command over ssh through PAM, and the services through
// EnvironmentFile=. Lima keeps a block of its own in it.
const environmentFile = "/etc/environment"

// environment is what every process of agent sees.
var environment = []string{
	"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
	"LANG=C.UTF-8",
	// All state in the home, on the data disk; Claude's account file too.
	"CLAUDE_CONFIG_DIR=" + loginHome + "/.claude",
	"CODEX_HOME=" + loginHome + "/.codex",
	"HERMES_HOME=" + loginHome + "/.hermes",
	"XDG_CACHE_HOME=/data/cache",
	// What is installed is what the lock says: nothing updates or completes itself.
	"DISABLE_UPDATES=1",
	"DISABLE_AUTOUPDATER=1",
	"HERMES_DISABLE_LAZY_INSTALLS=1",
	"TIRITH_ENABLED=false",
	"NPM_CONFIG_UPDATE_NOTIFIER=false",
}

func (b *bootstrap) environment(context.Context) (bool, error) {
	changed, err := b.manage(environmentFile, strings.Join(environment, "\n")+"\n")
	if err != nil {
		return false, err
	}
	moved, err := b.writePorts(b.ask.Ports)
	return changed || moved, err
}
