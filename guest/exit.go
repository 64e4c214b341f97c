package guest

import "fmt"

func (e *ExitError) Error() string {
	if e.Status < 0 {
		return fmt.Sprintf("%s: %v", e.Cmd, e.Err)
	}
	return fmt.Sprintf("%s: exit status %d", e.Cmd, e.Status)
}

// Unwrap gives the cause, if the program could not be run.
func (e *ExitError) Unwrap() error { return e.Err }
