package lock

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	packageurl "github.com/package-url/packageurl-go"
)

const ociPrefix = "oci://"

// IsImage reports whether the artifact is an OCI image in a registry: its digest is that of a manifest, which names a
// config and layers.
func (a *Artifact) IsImage() bool { return strings.HasPrefix(a.URL, ociPrefix) }

// checkURL checks the url of an artifact. found says what is wrong, and is empty if nothing is.
func checkURL(a *Artifact) (found, accepted string) {
	if a.IsImage() {
		ref, err := name.NewDigest(strings.TrimPrefix(a.URL, ociPrefix), name.StrictValidation)
		switch {
		case err != nil:
			return "a URL that does not name an image by its digest", "oci://<registry>/<repository>@sha256:<64 hex>"
		case a.Digest != "" && ref.DigestStr() != a.Digest:
			return "the digest " + ref.DigestStr(), "the artifact's own, " + a.Digest
		}
		return "", ""
	}
	u, err := url.Parse(a.URL)
	if err != nil {
		return "text that is not a URL", "an http, https, file or oci URL"
	}
	if u.User != nil {
		// The text is not repeated, since it holds a secret.
		return "a URL with credentials", "a URL without them: a lock is public"
	}
	switch u.Scheme {
	case "http", "https":
		if u.Hostname() == "" {
			return fmt.Sprintf("%q, without a host", a.URL), u.Scheme + "://<host>/<path>"
		}
	case "file":
		if u.Host != "" || u.Opaque != "" || path.Clean(u.Path) != u.Path || !path.IsAbs(u.Path) {
			return fmt.Sprintf("%q", a.URL), "file:///<absolute path>"
		}
	default:
		return fmt.Sprintf("the scheme %q", u.Scheme), "http, https, file or oci"
	}
	return "", ""
}

// checkSource checks the package URL of a component. found says what is wrong, and is empty if nothing is.
func checkSource(c *Component) (found, accepted string) {
	p, err := packageurl.FromString(c.Source)
	if err != nil {
		return fmt.Sprintf("%q (%v)", c.Source, err), "a package URL, such as pkg:npm/name@" + c.Version
	}
	switch p.Type {
	case packageurl.TypeNPM, packageurl.TypePyPi, packageurl.TypeOCI, packageurl.TypeGithub, packageurl.TypeGeneric:
	default:
		return "the package type " + p.Type, "npm, pypi, oci, github or generic"
	}
	if p.Version == c.Version {
		return "", ""
	}
	switch p.Type {
	case packageurl.TypeGithub:
		// Tags: v1.2.3, rust-v1.2.3.
		if strings.HasSuffix(p.Version, "v"+c.Version) {
			return "", ""
		}
	case packageurl.TypeOCI:
		// The package URL of an image names its digest, and the version as a tag.
		for _, a := range c.Artifacts {
			if a.IsImage() && a.Digest == p.Version && p.Qualifiers.Map()["tag"] == c.Version {
				return "", ""
			}
		}
	}
	return fmt.Sprintf("version %q in %q", p.Version, c.Source), fmt.Sprintf("the component's version, %q", c.Version)
}
