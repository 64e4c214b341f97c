package ops

import (
	"context"
	"fmt"
	"strings"

	"hermes-box/ops/fault"
)

// Verdict is the result of a check.
type Verdict string

// The verdicts. Unknown means that the check could not be made; it does not count as a pass. Looking announces that a
// check begins, and is never a result.
const (
	Looking Verdict = "looking"
	Pass    Verdict = "pass"
	Warn    Verdict = "warn"
	Fail    Verdict = "fail"
	Unknown Verdict = "unknown"
)

// Check is one check: what it found, and how to repair it.
type Check struct {
	ID       string     `json:"id"`
	Title    string     `json:"title"`
	Verdict  Verdict    `json:"verdict"`
	Evidence string     `json:"evidence"`
	Repair   string     `json:"repair,omitempty"` // a command, or short advice
	code     fault.Code // of the error that refusal returns; empty: preflight_failed
}

// Summary counts checks by their verdicts: "18 passed, 1 warning".
func Summary(checks []Check) string {
	count := map[Verdict]int{}
	for _, c := range checks {
		count[c.Verdict]++
	}
	var parts []string
	for _, v := range []struct {
		verdict   Verdict
		one, many string
	}{{Pass, "passed", "passed"}, {Warn, "warning", "warnings"}, {Fail, "failed", "failed"}, {Unknown, "unknown", "unknown"}} {
		switch n := count[v.verdict]; {
		case n == 1:
			parts = append(parts, "1 "+v.one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, v.many))
		}
	}
	return strings.Join(parts, ", ")
}

// probe is a check that can be run. It changes nothing.
type probe struct {
	id, title string
	look      func(context.Context) Check
}

func (p probe) run(ctx context.Context) Check {
	c := p.look(ctx)
	c.ID, c.Title = p.id, p.title
	return c
}

func pass(evidence string) Check { return Check{Verdict: Pass, Evidence: evidence} }
func warn(evidence, repair string) Check {
	return Check{Verdict: Warn, Evidence: evidence, Repair: repair}
}
func fail(evidence, repair string) Check {
	return Check{Verdict: Fail, Evidence: evidence, Repair: repair}
}
func unknown(err error, repair string) Check {
	return Check{Verdict: Unknown, Evidence: err.Error(), Repair: repair}
}

// failed returns the check for an error with a hint.
func failed(err error) Check {
	c := fail(err.Error(), fault.HintOf(err))
	c.code = fault.CodeOf(err)
	return c
}

// refusal returns a failed check as the error of a command that needs it to pass.
func (c Check) refusal() error {
	code := c.code
	if code == "" {
		code = fault.PreflightFailed
	}
	return fault.New(code, "%s", c.Evidence).Hint("%s", c.Repair).Detail("check", c.ID)
}
