package layout

// Environment is written to /etc/environment, and is part of the environment of the agents that the helper runs.
var Environment = []string{
	"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
	"LANG=C.UTF-8",
	// State and caches of programs are on the data disk. CLAUDE_CONFIG_DIR also moves .claude.json into .claude.
	"CLAUDE_CONFIG_DIR=" + LoginHome + "/.claude",
	"CODEX_HOME=" + LoginHome + "/.codex",
	"HERMES_HOME=" + LoginHome + "/.hermes",
	"XDG_CACHE_HOME=/data/cache",
	// Only the lock decides what is installed, so these tell programs not to update themselves or fetch others.
	"DISABLE_UPDATES=1",
	"DISABLE_AUTOUPDATER=1",
	"HERMES_DISABLE_LAZY_INSTALLS=1",
	"TIRITH_ENABLED=false",
	"NPM_CONFIG_UPDATE_NOTIFIER=false",
}
