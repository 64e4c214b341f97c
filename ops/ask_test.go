package ops

import (
	"strings"
	"testing"

	"hermes-box/guest/protocol"
	"hermes-box/limactl/ssh"
	"hermes-box/ops/fault"
)

// guestError names the component and the phase once.
func TestGuestError(t *testing.T) {
	for _, message := range []string{"no", "hermes: smoke: no"} {
		err := guestError(&protocol.Error{Code: "health_failed", Message: message, Component: "hermes", Phase: "smoke", Output: "last lines"})
		if err.Error() != "hermes: smoke: no" || fault.CodeOf(err) != fault.HealthFailed || fault.DetailsOf(err)["output"] != "last lines" {
			t.Errorf("%q: %v", message, err)
		}
	}
}

// The error says why the helper did not answer: it is of another version, it is missing, or it printed another reason.
func TestHelperError(t *testing.T) {
	for _, c := range []struct {
		err  ssh.HelperError
		want string
	}{
		{ssh.HelperError{Version: 99}, "it speaks protocol 99"},
		{ssh.HelperError{Status: 2, Message: "usage: hermes-box-guest VERB"}, "of another version"},
		{ssh.HelperError{Status: 127, Message: "not found"}, "the helper is missing in the box"},
		{ssh.HelperError{Status: 1, Message: "sudo: a password is required"}, "sudo: a password is required"},
	} {
		err := helperError("status", &c.err)
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.err, err)
		}
		if fault.CodeOf(err) == fault.HealthFailed && fault.HintOf(err) == "" {
			t.Errorf("%v: no hint", err)
		}
	}
}
