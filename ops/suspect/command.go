package suspect

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// The patterns are looked for in every string of an entry, and in its whole command line.
var (
	download = regexp.MustCompile(`\b(curl|wget|fetch|nc|ncat|socat)\b[^|]*\|(.*\|)?\s*(\S*/)?(sudo\s+|env\s+|exec\s+|nohup\s+)*` + interpreter)
	inline   = regexp.MustCompile(`\b(eval|source|\.|` + interpreter + `)\s[^|]*(<\(|\$\(|` + "`" + `)\s*(\S*/)?(curl|wget|fetch)\b`)
	decoded  = regexp.MustCompile(`(\bbase(64|32)\s+(-\w*[dD]|--decode)|\bopenssl\s+(enc\s+)?-?base64\b|\bxxd\s+-\w*r)[^|]*\|(.*\|)?\s*(\S*/)?(sudo\s+|env\s+|exec\s+)*` + interpreter)
	decodes  = regexp.MustCompile(`\b(eval|exec)\b.*\b(base64|b64decode|atob|fromCharCode)\b`)
	socket   = regexp.MustCompile(`/dev/(tcp|udp)/`)
)

const interpreter = `(\S*/)?(sh|bash|dash|ash|zsh|ksh|fish|python[0-9.]*|node|perl|ruby|php)\b`

var shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "csh", "tcsh", "pwsh", "powershell", "cmd", "cmd.exe"}

// codeFlags are the flags with which an interpreter runs the text in its arguments.
var codeFlags = map[string]string{"python": "c", "python3": "c", "node": "ep", "bun": "e", "perl": "eE", "ruby": "e", "php": "r", "lua": "e", "osascript": "e"}

// reasons returns why an entry is suspicious; nil if it is not.
func reasons(entry any) (why []string) {
	m, _ := entry.(map[string]any)
	words := commandLine(m)
	if program, args := strip(words); program != "" {
		switch {
		case slices.Contains(shells, program) && (len(args) == 0 || hasFlag(args, "c") || slices.Contains(args, "/c")):
			why = append(why, "its command is a shell")
		case hasFlag(args, codeFlags[program]):
			why = append(why, "its command is "+program+" with a program text")
		}
	}
	texts := append(texts(entry), strings.Join(words, " "))
	for _, look := range []struct {
		pattern *regexp.Regexp
		what    string
	}{
		{download, "it pipes a download into an interpreter"},
		{inline, "it runs a download"},
		{decoded, "it decodes text and runs it"},
		{decodes, "it decodes text and runs it"},
		{socket, "it opens a connection from a shell"},
	} {
		if slices.ContainsFunc(texts, look.pattern.MatchString) && !slices.Contains(why, look.what) {
			why = append(why, look.what)
		}
	}
	return why
}

// commandLine returns the command of an entry and its arguments. The command may be one text, or a list.
func commandLine(m map[string]any) (words []string) {
	switch c := m["command"].(type) {
	case string:
		words = strings.Fields(c)
	case []any:
		words = strs(c)
	}
	args, _ := m["args"].([]any)
	return append(words, strs(args)...)
}

func strs(list []any) (all []string) {
	for _, v := range list {
		if s, ok := v.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

// strip returns the name of the program, without its directory, and its arguments. It skips programs that only start
// another program.
func strip(words []string) (program string, args []string) {
	for i, word := range words {
		name := path.Base(word)
		switch {
		case strings.Contains(word, "=") && !strings.HasPrefix(word, "-"), i > 0 && strings.HasPrefix(word, "-"),
			slices.Contains([]string{"env", "sudo", "doas", "nohup", "exec", "setsid", "nice", "stdbuf", "busybox", "command"}, name):
			continue
		}
		return name, words[i+1:]
	}
	return "", nil
}

// hasFlag reports whether an argument has one of the short flags, alone as in -c or with others as in -lc. It stops at
// the first argument that is no flag.
func hasFlag(args []string, flags string) bool {
	for _, arg := range args {
		if !strings.HasPrefix(arg, "-") || arg == "--" {
			return false
		}
		if flags != "" && !strings.HasPrefix(arg, "--") && strings.ContainsAny(arg[1:], flags) {
			return true
		}
	}
	return false
}

// texts returns all strings in a value.
func texts(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			all = append(all, texts(e)...)
		}
	case map[string]any:
		for _, e := range v {
			all = append(all, texts(e)...)
		}
	}
	return all
}
