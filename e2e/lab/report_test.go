package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const sri = "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==" // of the empty file

func TestParseNPMPack(t *testing.T) {
	for _, c := range []struct {
		name, out string
		want      []file
		err       string
	}{
		{
			name: "two packages",
			out:  `[{"name":"a","version":"1.0.0","filename":"a-1.0.0.tgz","size":7,"integrity":"` + sri + `"},{"name":"@s/b","version":"2","filename":"@s/b-2.tgz","integrity":"` + sri + `"}]`,
			want: []file{{"a-1.0.0.tgz", "a", "1.0.0", 7, sri}, {"s-b-2.tgz", "@s/b", "2", 0, sri}},
		},
		{name: "weak digest", out: `[{"name":"a","filename":"a.tgz","integrity":"sha1-abc"}]`, err: "not a sha512"},
		{name: "file name outside the directory", out: `[{"name":"a","filename":"..","integrity":"` + sri + `"}]`, err: "file name"},
		{name: "not JSON", out: `npm notice`, err: "npm pack"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseNPMPack([]byte(c.out))
			check(t, got, err, c.want, c.err)
		})
	}
}

func TestParsePipReport(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	wheel := func(url, hash string) string {
		return `{"install":[{"metadata":{"name":"a","version":"1"},"download_info":{"url":"` + url + `","archive_info":{"hashes":{` + hash + `}}}}]}`
	}
	for _, c := range []struct {
		name, report string
		want         []file
		err          string
	}{
		{name: "one wheel", report: wheel("https://host/x/a-1%2Bl-py3-none-any.whl", `"sha256":"`+sum+`"`), want: []file{{"a-1+l-py3-none-any.whl", "a", "1", 0, "sha256:" + sum}}},
		{name: "source archive", report: wheel("https://host/a-1.tar.gz", `"sha256":"`+sum+`"`), err: "a-1.tar.gz"},
		{name: "no hash", report: wheel("https://host/a.whl", ``), err: `sha256 ""`},
		{name: "not JSON", report: `no`, err: "pip's report"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parsePipReport([]byte(c.report))
			check(t, got, err, c.want, c.err)
		})
	}
}

func TestParseURIs(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for _, c := range []struct {
		name, text string
		want       []file
		err        string
	}{
		{
			name: "version with an epoch, after another line",
			text: "Reading package lists...\n'http://h/p/x.deb' less_1%3a2~b1_amd64.deb 132 SHA256:" + sum + "\n",
			want: []file{{"less_1%3a2~b1_amd64.deb", "less", "1:2~b1", 132, "sha256:" + sum}},
		},
		{name: "weak digest", text: "'u' a_1_amd64.deb 1 MD5Sum:" + sum, err: "not a SHA256"},
		{name: "no digest", text: "'u' a_1_amd64.deb 1", err: "size hash"},
		{name: "size is not a number", text: "'u' a_1_amd64.deb x SHA256:" + sum, err: "size of a_1"},
		{name: "file name without a version", text: "'u' a.deb 1 SHA256:" + sum, err: "package_version_arch"},
		{name: "file name outside the directory", text: "'u' ../a_1_amd64.deb 1 SHA256:" + sum, err: "package_version_arch"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseURIs(c.text)
			check(t, got, err, c.want, c.err)
		})
	}
}

func check(t *testing.T, got []file, err error, want []file, wantErr string) {
	t.Helper()
	if wantErr != "" {
		if err == nil || !strings.Contains(err.Error(), wantErr) {
			t.Fatalf("error is %v, want one with %q", err, wantErr)
		}
		return
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, %v\nwant %v", got, err, want)
	}
}

// Whatever a client prints, a file name with a path in it and a weak digest are refused.
func FuzzReports(f *testing.F) {
	f.Add([]byte(`[{"name":"a","filename":"../a.tgz","integrity":"` + sri + `"}]`))
	f.Add([]byte(`{"install":[{"download_info":{"url":"https://host/..","archive_info":{"hashes":{"sha256":"a"}}}}]}`))
	f.Add([]byte("'u' ../a_1_x.deb 1 SHA256:" + strings.Repeat("0a", 32)))
	f.Fuzz(func(t *testing.T, data []byte) {
		npm, _ := parseNPMPack(data)
		pip, _ := parsePipReport(data)
		apt, _ := parseURIs(string(data))
		for _, file := range append(append(npm, pip...), apt...) {
			if file.Name != filepath.Base(file.Name) || file.Name == ".." || file.Name == "." {
				t.Errorf("file name %q", file.Name)
			}
			if !strings.HasPrefix(file.Digest, "sha256:") && !strings.HasPrefix(file.Digest, "sha512-") {
				t.Errorf("digest %q", file.Digest)
			}
		}
	})
}

func TestRecordChecksTheBytes(t *testing.T) {
	const sumOfX = "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
	for _, c := range []struct {
		name string
		file file
		err  string
	}{
		{"right", file{Name: "a", Digest: sumOfX}, ""},
		{"other bytes", file{Name: "a", Digest: sri}, "registry says"},
		{"other size", file{Name: "a", Digest: sumOfX, Size: 2}, "2"},
		{"absent", file{Name: "b", Digest: sumOfX}, "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &build{lab: &lab{dir: t.TempDir()}}
			b.dir = b.lab.path("product")
			write(t, filepath.Join(b.dir, "a"), "x")
			err := b.record([]file{c.file})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error is %v, want one with %q", err, c.err)
				}
				if _, err := os.Stat(filepath.Join(b.dir, filesName)); err == nil {
					t.Fatal("a refused file was recorded")
				}
				return
			}
			got, readErr := b.lab.files("product")
			if err != nil || readErr != nil || len(got) != 1 || got[0].Size != 1 {
				t.Fatalf("recorded %v (%v, %v)", got, err, readErr)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
