package protocol

import (
	"regexp"
	"sync"
)

// Verbs of signing in. They need root to read the files of the agents and of Executor.
const (
	VerbSignedIn     = "signed-in"      // -> SignedIn; asks each agent
	VerbLinkExecutor = "link-executor"  // ExecutorLink -> ExecutorLinked; gives Hermes the token of Executor
	VerbTakeUpHermes = "take-up-hermes" // -> TakenUp; restarts Hermes if its setup has changed since it started
)

// The names of the sign-ins.
const (
	SignInClaude   = "claude"
	SignInCodex    = "codex"
	SignInHermes   = "hermes"
	SignInModel    = "model"    // of Hermes
	SignInExecutor = "executor" // at least one service connected in its portal
	SignInToken    = "token"    // of Executor, configured in Hermes
)

// SignedIn answers VerbSignedIn, with a SignIn for each of the names above.
type SignedIn struct {
	SignIns []SignIn `json:"sign_ins"`
}

// SignIn is the state of one sign-in. Detail is how it was found out, or what is missing.
type SignIn struct {
	Name   string `json:"name"`
	Done   bool   `json:"done"`
	Detail string `json:"detail,omitempty"`
}

// ExecutorLink gives Hermes the token of Executor's MCP endpoint. Tools are the reviewed ones: Hermes must find exactly
// these, and is configured to use no others.
type ExecutorLink struct {
	Token string   `json:"token"`
	Tools []string `json:"tools"`
}

// ExecutorLinked answers VerbLinkExecutor.
type ExecutorLinked struct {
	Already bool     `json:"already"` // nothing had to be changed
	Tools   []string `json:"tools"`   // the tools that Hermes found, sorted
}

// TakenUp answers VerbTakeUpHermes.
type TakenUp struct {
	Restarted bool `json:"restarted"`
}

// ValidToken reports whether a token can be sent as a bearer token (RFC 6750).
func ValidToken(token string) bool { return len(token) <= 4096 && bearer().MatchString(token) }

var bearer = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`) })
