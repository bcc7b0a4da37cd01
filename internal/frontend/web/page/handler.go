package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // for the files
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"
)

// packed are the files in assets, as a JSON object of names and contents, compressed: the binary is
// 150 kB smaller with it. A test makes it, and fails if it is stale.
//
//go:embed assets.json.gz
var packed []byte

// policy: images of a prompt are shown from data: URLs; everything else is
// ours or nothing.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// asset is one file as it is served.
type asset struct {
	contentType string
	etag        string
	data        []byte
}

// Handler serves the page at "/" and its files below "/assets/". Every other
// path is 404, every method but GET and HEAD 405. Answers are revalidated by
// their ETag, so that a new binary never meets an old script.
func Handler() http.Handler {
	assets, err := load(packed)
	if err != nil {
		panic(err) // The files are part of the binary.
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve(w, r, assets)
	})
}

func load(packed []byte) (map[string]asset, error) {
	files, err := unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("cannot unpack the page: %w", err)
	}
	assets := map[string]asset{}
	for name, text := range files {
		contentType, known := contentTypes()[path.Ext(name)]
		if !known {
			return nil, fmt.Errorf("cannot serve %q: its type is not known", name)
		}
		sum := sha256.Sum256([]byte(text))
		assets["/assets/"+name] = asset{
			contentType,
			`"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`,
			[]byte(text),
		}
	}
	index, ok := assets["/assets/index.html"]
	if !ok {
		return nil, errors.New("cannot serve the page: it has no index.html")
	}
	delete(assets, "/assets/index.html")
	assets["/"] = index
	return assets, nil
}

// unpack returns the files by their names.
func unpack(packed []byte) (files map[string]string, err error) {
	from, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	err = json.NewDecoder(from).Decode(&files)
	return files, err
}

// contentTypes: the machine's own table of types is not asked, since it may be
// wrong, and a browser refuses a module of another type.
func contentTypes() map[string]string {
	return map[string]string{
		".html": "text/html; charset=utf-8",
		".css":  "text/css; charset=utf-8",
		".js":   "text/javascript; charset=utf-8",
		".svg":  "image/svg+xml",

		".webmanifest": "application/manifest+json",
	}
}

func serve(w http.ResponseWriter, r *http.Request, assets map[string]asset) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	a, ok := assets[r.URL.Path]
	if !ok {
		http.Error(w, "There is nothing here. The page is at /", http.StatusNotFound)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "The page can only be read: GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	header.Set("Cache-Control", "no-cache")
	header.Set("Content-Type", a.contentType)
	header.Set("ETag", a.etag)
	if strings.Contains(r.Header.Get("If-None-Match"), a.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.data))
}
