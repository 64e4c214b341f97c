// Command hermes-box gives a person one persistent, isolated workstation for AI agents.
package main

import (
	"os"

	"hermes-box/cli"
	"hermes-box/internal/rehearsal/demo"
)

func main() {
	demo.Main()
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
