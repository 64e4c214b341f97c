package keys

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The files that are built for macOS with cgo pass the type checker, together with the source of the keychain library.
// Compiling them needs the C headers of macOS, so make check cross-compiles for macOS without cgo, which leaves these
// files out.
func TestTypesOfTheKeychainFile(t *testing.T) {
	if errs := checkDarwin(t, func(text []byte) []byte { return text }); len(errs) > 0 {
		t.Errorf("%v", errs)
	}
	for old, changed := range map[string]string{
		"keychain.AddItem(item)":             "keychain.AddItems(item)",
		"keychain.GetGenericPassword(":       "keychain.GetGenericPassword(1, ",
		"func (macKeychain) Name() string {": "func (macKeychain) Names() string {",
		"keychain.ErrorDuplicateItem":        "keychain.ErrorTwice",
		"string(data), err":                  "data, err",
	} {
		errs := checkDarwin(t, func(text []byte) []byte {
			if !bytes.Contains(text, []byte(old)) {
				t.Errorf("the file does not hold %q", old)
			}
			return bytes.Replace(text, []byte(old), []byte(changed), 1)
		})
		if len(errs) == 0 {
			t.Errorf("the check does not notice %q", changed)
		}
	}
}

const keychainPath = "github.com/keybase/go-keychain"

// checkDarwin type-checks this package as it is built for macOS with cgo, after change has changed keychain_darwin.go.
func checkDarwin(t *testing.T, change func([]byte) []byte) (errs []error) {
	t.Helper()
	fset := token.NewFileSet()
	library := parseDarwin(t, fset, goList(t, "darwin", "-f", "{{.Dir}}", keychainPath), nil)
	mine := parseDarwin(t, fset, ".", change)
	im := &exports{exported: importsOf(t, append(library, mine...))}
	im.gc = importer.ForCompiler(fset, "gc", im.open)
	// The checker does not know C types, so it reports false errors in the library: ignore them. The functions that
	// this package calls have Go types.
	config := types.Config{FakeImportC: true, Importer: im, Error: func(error) {}}
	im.keychain, _ = config.Check(keychainPath, fset, library, nil)
	config.Error = func(err error) { errs = append(errs, err) }
	_, _ = config.Check("hermes-box/ops/keys", fset, mine, nil)
	return errs
}

// exports is the importer for the check. It reads packages from export data that is built for this machine, except the
// keychain library, which checkDarwin has checked for macOS.
type exports struct {
	exported map[string]string // the file of each package
	gc       types.Importer
	keychain *types.Package
}

func (e *exports) open(path string) (io.ReadCloser, error) {
	if e.exported[path] == "" {
		return nil, fmt.Errorf("there is no package %s", path)
	}
	return os.Open(e.exported[path])
}

func (e *exports) Import(path string) (*types.Package, error) {
	if path == keychainPath {
		return e.keychain, nil
	}
	return e.gc.Import(path)
}

// parseDarwin parses the files of dir that are built for macOS with cgo.
func parseDarwin(t *testing.T, fset *token.FileSet, dir string, change func([]byte) []byte) (files []*ast.File) {
	t.Helper()
	darwin := build.Default
	darwin.GOOS, darwin.GOARCH, darwin.CgoEnabled = "darwin", "arm64", true
	pkg, err := darwin.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := false
	for _, name := range append(pkg.GoFiles, pkg.CgoFiles...) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "keychain_darwin.go" && change != nil {
			text, seen = change(text), true
		}
		file, err := parser.ParseFile(fset, filepath.Join(dir, name), text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if change != nil && !seen {
		t.Fatalf("keychain_darwin.go is not among the files for macOS: %v", pkg.GoFiles)
	}
	return files
}

// importsOf returns the files with the export data of all packages that files need.
func importsOf(t *testing.T, files []*ast.File) map[string]string {
	t.Helper()
	args := []string{"-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for _, f := range files {
		for _, spec := range f.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err == nil && path != "C" && path != keychainPath {
				args = append(args, path)
			}
		}
	}
	all := map[string]string{}
	for line := range strings.Lines(goList(t, "", args...)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		all[path] = file
	}
	return all
}

func goList(t *testing.T, goos string, args ...string) string {
	t.Helper()
	c := exec.Command("go", append([]string{"list"}, args...)...)
	if goos != "" {
		c.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=arm64", "CGO_ENABLED=1")
	}
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}
