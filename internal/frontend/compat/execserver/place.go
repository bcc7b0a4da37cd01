package execserver

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

// place is an absolute path, which the protocol writes as a file: URL. The zero
// value is none.
type place string

// UnmarshalJSON implements [json.Unmarshaler].
func (p *place) UnmarshalJSON(raw []byte) error {
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil || text == nil {
		return err
	}
	u, err := url.Parse(*text)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a file URL: %w", *text, err)
	case u.Scheme != "file":
		return fmt.Errorf("%q is not a file URL", *text)
	case u.Host != "" && u.Host != "localhost":
		return fmt.Errorf("%q is on another machine", *text)
	case u.RawQuery != "" || u.Fragment != "" || u.Opaque != "":
		return fmt.Errorf("%q has more than a path", *text)
	case strings.ContainsRune(u.Path, 0):
		return fmt.Errorf("%q has a NUL", *text)
	}
	path := filepath.FromSlash(u.Path)
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, `\`)
	}
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q is not an absolute path", *text)
	}
	*p = place(filepath.Clean(path))
	return nil
}

// MarshalJSON implements [json.Marshaler].
func (p place) MarshalJSON() ([]byte, error) {
	path := filepath.ToSlash(string(p))
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return json.Marshal((&url.URL{Scheme: "file", Path: path}).String())
}

// path returns the path, or an error that names the parameter which lacks it.
func (p place) path(parameter string) (string, error) {
	if p == "" {
		return "", invalidParams("missing field `%s`", parameter)
	}
	return string(p), nil
}
