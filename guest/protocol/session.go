package protocol

// SessionRequest is the request of VerbSession.
type SessionRequest struct {
	Term string `json:"term"` // TERM of the terminal to attach
}

// Session answers VerbSession.
type Session struct {
	// Attach is the command that attaches a terminal to tmux session main. It is empty if tm has to be run instead, to
	// start the session or to compile a terminfo entry.
	Attach []string `json:"attach,omitempty"`
}
