package about

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The order is the example of semver.org, 2.0.0, section 11.
func TestVersions(t *testing.T) {
	order := strings.Fields(
		"0.9.9 1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 1.0.0 1.0.1 1.10.0 2.0.0",
	)
	for i, a := range order {
		for j, b := range order {
			x, ok := parseVersion(a)
			y, ok2 := parseVersion(b + "+build")
			if !ok || !ok2 || x.newer(y) != (i > j) {
				t.Errorf("%s newer than %s: %t", a, b, x.newer(y))
			}
		}
	}
	for _, bad := range []string{
		"", "1.0", "1.0.0.0", "v1.0.0", "1.0.0-", "01.0.0", "1.0.-1", "1.0.0-a;b", "1.0.0+a;b",
		"1.0.0+\x1b[2J", "devel",
	} {
		if _, ok := parseVersion(bad); ok {
			t.Errorf("%q is a version", bad)
		}
	}
}

// Any response of the server becomes a version or a clear error.
func TestNewest(t *testing.T) {
	for _, c := range []struct {
		body string
		code int
		want string
	}{
		{`{"version":"1.2.3","files":"https://x.example/v1.2.3"}`, 200, ""},
		{`{"version":"1.2.3","files":"https://x.example/v1.2.3"}`, 503, "503"},
		{`<html>`, 200, "is not an index of releases"},
		{`{}`, 200, "it lacks a version"},
		{`{"version":"1.2.3","files":"https://x/;rm -r ~"}`, 200, "it lacks"},
		{`{"version":"1.2.3","files":"file:///x"}`, 200, "it lacks"},
		{`{"version":"1.2.3","files":"http://x.example/v1.2.3"}`, 200, "the https address of its files"},
		{`{"version":"1.2.3+$(id)","files":"https://x"}`, 200, "it lacks"},
		{`{"version":"1.2.3 ` + "\x1b" + `","files":"https://x"}`, 200, "is not an index"},
		{strings.Repeat(" ", maxIndex) + `{"version":"1.2.3","files":"https://x"}`, 200, "more than 65536 bytes"},
	} {
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.code)
			io.WriteString(w, c.body)
		}))
		got, err := Newest(t.Context(), server.Client(), server.URL)
		if c.want == "" && (err != nil || got.Version != "1.2.3") || c.want != "" && (err == nil || !strings.Contains(
			err.Error(), c.want,
		)) {
			t.Errorf("%.60q: %+v, %v", c.body, got, err)
		}
		server.Close()
		if _, err := Newest(
			t.Context(), server.Client(), server.URL,
		); err == nil || !strings.Contains(err.Error(), "cannot ask") {
			t.Errorf("offline: %v", err)
		}
	}
}

// TestNewestElsewhere: the host of the releases keeps its files on other servers. A
// redirect is not followed for ever, nor to http, nor with a password. An http address
// is not asked.
func TestNewestElsewhere(t *testing.T) {
	const list = `{"version":"1.2.3","files":"https://x.example/v1.2.3"}`
	asked := 0
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		io.WriteString(w, list)
	})
	plain, files := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	defer plain.Close()
	defer files.Close()
	start := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(
			w, r,
			map[string]string{
				"/self": "/self", "/http": plain.URL, "/twice": "/http",
			}[r.URL.Path]+map[string]string{"/": files.URL}[r.URL.Path],
			http.StatusFound,
		)
	}))
	defer start.Close()
	for url, want := range map[string]string{
		start.URL + "/": "", start.URL + "/self": "6 times in a row",
		plain.URL:            "must start with https://",
		start.URL + "/http":  "it leads from https to http",
		start.URL + "/twice": "it leads from https to http",
		"//" + start.URL[8:]: "must start with https://",
		strings.Replace(start.URL, "https://", "https://ada:secret@", 1) + "/": "keys are not sent",
	} {
		asked = 0
		got, err := Newest(t.Context(), start.Client(), url)
		if want == "" && (err != nil || got.Version != "1.2.3") || want != "" && (err == nil ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %+v, %v", url, got, err)
		}
		if asked > 6 || url == plain.URL && asked > 0 {
			t.Errorf("%s: asked %d times", url, asked)
		}
	}
	start.Client().CloseIdleConnections()
}

// Each way to install has its own way to update.
func TestUpdate(t *testing.T) {
	newest := Release{Version: "1.3.0", Files: "https://x/v1.3.0"}
	there := func(paths ...string) func(string) bool {
		return func(path string) bool { return strings.Contains(strings.Join(paths, "\n"), path) }
	}
	for want, i := range map[string]Installed{
		"go install github.com/settle-agent/settle/cmd/settle@v1.3.0": {
			Version: "1.2.3", Module: true, Program: "/root/go/bin/settle", Exists: there(),
		},
		"npm install @settle-agent/settle@1.3.0": {
			Version: "1.2.3", Program: "/x/node_modules/@settle-agent/settle-linux-x64/bin/settle",
			Exists: there(),
		},
		"npm install --global @settle-agent/settle@1.3.0": {
			Version: "1.2.3",
			Program: "/usr/local/lib/node_modules/@settle-agent/settle/node_modules/@settle-agent/settle-linux-x64/bin/settle",
			Exists:  there(),
		},
		"brew upgrade settle": {
			Version: "1.2.3", Program: "/opt/homebrew/Cellar/settle/1.2.3/bin/settle", Exists: there(),
		},
		"sudo apt install ./settle_*.deb": {
			Version: "1.2.3", Program: "/usr/bin/settle", Exists: there("/var/lib/dpkg/info/settle.list"),
		},
		"sudo rpm --upgrade https://x/v1.3.0/settle-1.3.0-1.<x86_64 or aarch64>.rpm": {
			Version: "1.2.3", Program: "/usr/bin/settle", Exists: there("/usr/lib/sysimage/rpm"),
		},
		"start a container from the image of 1.3.0: https://x/v1.3.0/settle_1.3.0_image.tar": {
			Version: "1.2.3", Program: "/usr/bin/settle", Exists: there(),
		},
		`curl --proto '=https' --tlsv1.2 -fsSL https://x/v1.3.0/install.sh | SETTLE_INSTALL_DIR='/home/o'\''b/bin' sh`: {
			Version: "1.3.0-rc.1", Program: "/home/o'b/bin/settle", Exists: there(),
		},
		"settle 1.3.0 is the newest version.":                        {Version: "1.3.0"},
		"settle 1.4.0 is newer than the newest release, 1.3.0.":      {Version: "1.4.0"},
		"built from a checkout (devel); the newest release is 1.3.0": {Version: "devel"},
		"built from a checkout (0.0.0-2026); the newest release is 1.3.0": {
			Version: "0.0.0-2026", Checkout: true,
		},
	} {
		var out bytes.Buffer
		err := Updater{Installed: i, Out: &out}.Check(t.Context(), newest)
		if strings.Contains(out.String(), "To get it:") && !strings.Contains(
			out.String(), "has no release key, so it could not verify",
		) {
			t.Errorf("a build without a key says %s", out.String())
		}
		if isNewer := strings.Contains(
			out.String(), "To get it:",
		); !strings.Contains(out.String(), want) || errors.Is(err, ErrNewer) != isNewer {
			t.Errorf("%+v: %v: %s", i, err, out.String())
		}
	}
}
