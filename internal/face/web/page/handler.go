package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed assets
var embedded embed.FS

// policy: images of a prompt are shown from data: URLs; everything else is
// ours or nothing.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

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
	assets, err := load(embedded)
	if err != nil {
		panic(err) // The files are part of the binary.
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve(w, r, assets)
	})
}

func load(files fs.FS) (map[string]asset, error) {
	assets := map[string]asset{}
	err := fs.WalkDir(files, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		contentType, known := contentTypes()[path.Ext(name)]
		if !known {
			return fmt.Errorf("cannot serve %q: its type is not known", name)
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("cannot read %q: %w", name, err)
		}
		sum := sha256.Sum256(data)
		assets["/"+name] = asset{contentType, `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`, data}
		return nil
	})
	if err != nil {
		return nil, err
	}
	index, ok := assets["/assets/index.html"]
	if !ok {
		return nil, errors.New("cannot serve the page: it has no index.html")
	}
	delete(assets, "/assets/index.html")
	assets["/"] = index
	return assets, nil
}

// contentTypes: the machine's own table of types is not asked, since it may be
// wrong, and a browser refuses a module of another type.
func contentTypes() map[string]string {
	return map[string]string{
		".html": "text/html; charset=utf-8",
		".css":  "text/css; charset=utf-8",
		".js":   "text/javascript; charset=utf-8",
		".svg":  "image/svg+xml",
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
