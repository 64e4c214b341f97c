package component

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"

	"hermes-box/guest/durable"
	"hermes-box/guest/layout"
)

var apiKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*(?:export[ \t]+)?([A-Z0-9_]+)_API_KEY[ \t]*=[ \t]*["']?[^\s"']`)
})

// HermesSetUp reports whether Hermes has a login, an API key or a model, however it was set up. The keys of MCP
// servers do not count, since they are for tools.
func HermesSetUp(t durable.Tree) bool {
	var auth struct {
		Providers map[string]json.RawMessage `json:"providers"`
		Pool      map[string]json.RawMessage `json:"credential_pool"`
	}
	if err := durable.ReadJSON(t.Path(layout.HermesHome, "auth.json"), &auth); err == nil && len(auth.Providers)+len(auth.Pool) > 0 {
		return true
	}
	for _, key := range apiKey().FindAllSubmatch(HermesFile(t, ".env"), -1) {
		if !strings.HasPrefix(string(key[1]), "MCP_") {
			return true
		}
	}
	return HermesModel(t) != ""
}

// HermesFile returns the content of a file in Hermes's home; empty if it cannot be read.
func HermesFile(t durable.Tree, name string) []byte {
	text, _ := os.ReadFile(t.Path(layout.HermesHome, name))
	return text
}

// HermesModel returns the model that Hermes is configured to use; empty if none is.
func HermesModel(t durable.Tree) string { return modelIn(HermesFile(t, "config.yaml")) }

// modelIn finds the model in Hermes's configuration: a name, or a mapping with the name in it.
func modelIn(config []byte) string {
	var c struct{ Model yaml.Node }
	if yaml.Unmarshal(config, &c) != nil {
		return ""
	}
	var name string
	if c.Model.Decode(&name) == nil {
		return name
	}
	var m map[string]any
	_ = c.Model.Decode(&m)
	for _, key := range []string{"default", "model", "name"} {
		if name, ok := m[key].(string); ok && name != "" {
			return name
		}
	}
	return ""
}
