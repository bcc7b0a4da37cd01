package page_test

import (
	"bytes"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/frontend/web/page"
)

func get(t *testing.T, method, target string, header http.Header) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	page.Handler().ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) []byte {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestServesEachFile(t *testing.T) {
	types := map[string]string{
		".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
		".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
		".webmanifest": "application/manifest+json",
	}
	files, err := fs.Glob(os.DirFS("assets"), "*")
	if err != nil || len(files) < 3 {
		t.Fatalf("the assets are %q, %v", files, err)
	}
	for _, name := range files {
		t.Run(name, func(t *testing.T) {
			target := "/assets/" + name
			if name == "index.html" {
				target = "/"
			}
			want, err := os.ReadFile(path.Join("assets", name))
			if err != nil {
				t.Fatal(err)
			}
			r := get(t, http.MethodGet, target, nil)
			if r.StatusCode != http.StatusOK || !bytes.Equal(body(t, r), want) {
				t.Fatalf("status %d, or not the file", r.StatusCode)
			}
			if got := r.Header.Get("Content-Type"); got != types[path.Ext(name)] {
				t.Errorf("Content-Type %q", got)
			}
			head := get(t, http.MethodHead, target, nil)
			if head.StatusCode != http.StatusOK || len(body(t, head)) > 0 || head.ContentLength != int64(len(want)) {
				t.Errorf("HEAD: status %d, length %d", head.StatusCode, head.ContentLength)
			}
			again := get(t, http.MethodGet, target, http.Header{"If-None-Match": {r.Header.Get("ETag")}})
			if again.StatusCode != http.StatusNotModified || len(body(t, again)) > 0 {
				t.Errorf("with the ETag: status %d", again.StatusCode)
			}
			old := get(t, http.MethodGet, target, http.Header{"If-None-Match": {`"old"`}})
			if old.StatusCode != http.StatusOK {
				t.Errorf("with another ETag: status %d", old.StatusCode)
			}
		})
	}
}

func TestEveryAnswerForbidsForeignCode(t *testing.T) {
	for _, target := range []string{"/", "/assets/main.js", "/nothing"} {
		r := get(t, http.MethodGet, target, nil)
		csp := r.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(csp, want) {
				t.Errorf("%s: the policy %q lacks %q", target, csp, want)
			}
		}
		if strings.Contains(csp, "unsafe") || r.Header.Get("X-Content-Type-Options") != "nosniff" ||
			r.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: headers %v", target, r.Header)
		}
	}
}

func TestRefuses(t *testing.T) {
	tests := []struct {
		method, target string
		want           int
	}{
		{http.MethodGet, "/assets/index.html", http.StatusNotFound},
		{http.MethodGet, "/assets/", http.StatusNotFound},
		{http.MethodGet, "/assets", http.StatusNotFound},
		{http.MethodGet, "/assets/../handler.go", http.StatusNotFound},
		{http.MethodGet, "/assets/%2e%2e/handler.go", http.StatusNotFound},
		{http.MethodGet, "/index.html", http.StatusNotFound},
		{http.MethodPost, "/", http.StatusMethodNotAllowed},
		{http.MethodDelete, "/assets/main.js", http.StatusMethodNotAllowed},
	}
	for _, test := range tests {
		if r := get(t, test.method, test.target, nil); r.StatusCode != test.want {
			t.Errorf("%s %s: status %d, want %d", test.method, test.target, r.StatusCode, test.want)
		}
	}
}

// The policy forbids inline code and style, and other hosts are not asked for
// anything; the sources must not try, or the page would be broken.
func TestAssetsKeepToThePolicy(t *testing.T) {
	forbidden := map[string]*regexp.Regexp{
		".html": regexp.MustCompile(
			`(?i)<style|\sstyle=|\son[a-z]+=|<script(?:[^>]*)>[^<]|(?:src|href)="(?:https?:)?//`,
		),
		".css": regexp.MustCompile(`(?i)@import|url\(\s*["']?(?:https?:)?//`),
		".js": regexp.MustCompile(
			`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|setAttribute\(\s*["'](?:style|on)|srcdoc`,
		),
	}
	files, err := fs.Glob(os.DirFS("assets"), "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(path.Join("assets", name))
		if err != nil {
			t.Fatal(err)
		}
		if re := forbidden[path.Ext(name)]; re != nil && re.Match(data) {
			t.Errorf("%s has %q", name, re.Find(data))
		}
	}
}
