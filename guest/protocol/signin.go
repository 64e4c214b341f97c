package protocol

import "regexp"

// Verbs of signing in. They need root: what they look at is the agents' and Executor's alone.
const (
	VerbSignedIn     = "signed-in"      // -> SignedIn; asks each agent itself, and remembers nothing
	VerbLinkExecutor = "link-executor"  // ExecutorLink -> ExecutorLinked; gives Hermes the token of Executor
	VerbTakeUpHermes = "take-up-hermes" // -> TakenUp; restarts Hermes if what was set up is newer than its start
)

// What a person signs in to.
const (
	SignInClaude   = "claude"
	SignInCodex    = "codex"
	SignInHermes   = "hermes"
	SignInModel    = "model"    // that Hermes thinks with
	SignInExecutor = "executor" // the services that Executor's portal connects
	SignInToken    = "token"    // Executor's, that Hermes holds
)

// SignedIn answers VerbSignedIn: one for each of the names above.
type SignedIn struct {
	SignIns []SignIn `json:"sign_ins"`
}

// SignIn tells whether one of them is done, and how that shows or what is in the way.
type SignIn struct {
	Name   string `json:"name"`
	Done   bool   `json:"done"`
	Detail string `json:"detail,omitempty"`
}

// ExecutorLink gives Hermes the token of Executor's MCP endpoint. Tools are those that were reviewed: Hermes must
// find exactly these there, and is told to use no others.
type ExecutorLink struct {
	Token string   `json:"token"`
	Tools []string `json:"tools"`
}

// ExecutorLinked answers VerbLinkExecutor.
type ExecutorLinked struct {
	Already bool     `json:"already"` // nothing was to be changed
	Tools   []string `json:"tools"`   // what Hermes finds, sorted
}

// TakenUp answers VerbTakeUpHermes.
type TakenUp struct {
	Restarted bool `json:"restarted"`
}

// ValidToken tells whether a token can be sent as a bearer token (RFC 6750). Such a one needs no quotes anywhere.
func ValidToken(token string) bool { return len(token) <= 4096 && bearer.MatchString(token) }

var bearer = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)
