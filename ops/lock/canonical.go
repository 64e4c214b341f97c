package lock

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"gopkg.in/yaml.v3"
)

// Canonical returns the canonical text of a lock: keys in the order of the struct fields, components in Order, indented
// by two spaces. Parsing the text gives a lock that equals l.
func (l *Lock) Canonical() []byte {
	components := &yaml.Node{Kind: yaml.MappingNode}
	for _, name := range Order {
		var key, value yaml.Node
		key.SetString(name)
		if err := value.Encode(l.Components[name]); err != nil {
			panic(err) // a struct of strings and numbers always encodes
		}
		components.Content = append(components.Content, &key, &value)
	}
	// The same fields as Lock, but with the components in order.
	text := struct {
		Schema     int        `yaml:"schema"`
		Lima       Lima       `yaml:"lima"`
		Arch       string     `yaml:"arch"`
		Image      Image      `yaml:"image"`
		Packages   []Package  `yaml:"packages,omitempty"`
		Components *yaml.Node `yaml:"components"`
	}{l.Schema, l.Lima, l.Arch, l.Image, l.Packages, components}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(text); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Digest returns the sha256 of the canonical text, "sha256:<hex>"; it identifies the lock.
func (l *Lock) Digest() string {
	sum := sha256.Sum256(l.Canonical())
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Identity returns the sha256 over a component's version, its Python and the name and digest of each artifact in order.
// Urls, sizes and the source are not part of it.
func (c *Component) Identity() string {
	h := sha256.New()
	fmt.Fprintf(h, "version %q\n", c.Version)
	if c.Python != nil {
		fmt.Fprintf(h, "python %q %q\n", c.Python.Version, c.Python.Artifact)
	}
	for _, a := range c.Artifacts {
		fmt.Fprintf(h, "artifact %q %q\n", a.Name, a.Digest)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
