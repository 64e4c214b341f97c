package layout

// Environment is the environment of every process of the agent user.
var Environment = []string{
	"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
	"LANG=C.UTF-8",
	// State goes into the home, on the data disk. CLAUDE_CONFIG_DIR also moves .claude.json there.
	"CLAUDE_CONFIG_DIR=" + LoginHome + "/.claude",
	"CODEX_HOME=" + LoginHome + "/.codex",
	"HERMES_HOME=" + LoginHome + "/.hermes",
	"XDG_CACHE_HOME=/data/cache",
	// The lock decides what is installed: nothing may update itself or fetch programs.
	"DISABLE_UPDATES=1",
	"DISABLE_AUTOUPDATER=1",
	"HERMES_DISABLE_LAZY_INSTALLS=1",
	"TIRITH_ENABLED=false",
	"NPM_CONFIG_UPDATE_NOTIFIER=false",
}
