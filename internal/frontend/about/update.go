package about

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/egress"
)

// Release is the index of releases: the newest one, and where its files are.
type Release struct {
	Version string `json:"version"` // without a leading v
	Files   string `json:"files"`   // URL of the folder
}

const (
	maxIndex     = 64 << 10
	indexTimeout = 20 * time.Second
)

// Newest asks for the index at a URL.
func Newest(ctx context.Context, client *http.Client, url string) (Release, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, indexTimeout, fmt.Errorf("there was no answer within %s", indexTimeout))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return Release{}, fmt.Errorf("cannot ask for the newest version: %w", err)
	}
	url = request.URL.Redacted()
	response, err := egress.AnyServer(client).Do(request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return Release{}, fmt.Errorf("cannot ask %s for the newest version: %w", url, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxIndex+1))
	if err != nil {
		return Release{}, fmt.Errorf("cannot read %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return Release{}, fmt.Errorf("cannot find out the newest version: %s answered %s", url, response.Status)
	}
	var r Release
	if err := json.Unmarshal(body, &r); err != nil || len(body) > maxIndex {
		return Release{}, fmt.Errorf("%s is not an index of releases", url)
	}
	if _, ok := parseVersion(r.Version); !ok || !plainURL(r.Files) {
		return Release{}, fmt.Errorf("%s is not an index of releases: it lacks a version or the address of its files", url)
	}
	return r, nil
}

// plainURL reports whether text is a URL that means itself in a shell, too.
func plainURL(text string) bool {
	return (strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")) && !strings.ContainsFunc(text, func(c rune) bool {
		return !strings.ContainsRune("/:.-_~%+@", c) && !letter(c)
	})
}

func letter(c rune) bool { return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }

// number is a version as semantic versioning (semver.org, 2.0.0) orders them.
type number struct {
	core [3]int
	pre  string
}

func parseVersion(text string) (n number, ok bool) {
	text, build, _ := strings.Cut(text, "+")
	core, pre, isPre := strings.Cut(text, "-")
	parts := strings.Split(core, ".")
	if len(parts) != 3 || isPre && pre == "" || strings.ContainsFunc(pre+build, func(c rune) bool {
		return c != '-' && c != '.' && !letter(c)
	}) {
		return n, false
	}
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || v < 0 || p != strconv.Itoa(v) {
			return n, false
		}
		n.core[i] = v
	}
	n.pre = pre
	return n, true
}

// newer reports whether n is newer than other.
func (n number) newer(other number) bool {
	for i := range n.core {
		if n.core[i] != other.core[i] {
			return n.core[i] > other.core[i]
		}
	}
	if n.pre == "" || other.pre == "" {
		return n.pre == "" && other.pre != ""
	}
	a, b := strings.Split(n.pre, "."), strings.Split(other.pre, ".")
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			continue
		}
		x, err := strconv.Atoi(a[i])
		y, err2 := strconv.Atoi(b[i])
		if err == nil && err2 == nil {
			return x > y
		}
		if (err == nil) != (err2 == nil) {
			return err != nil // a number is older than a word
		}
		return a[i] > b[i]
	}
	return len(a) > len(b)
}

// Installed says how settle came onto this machine.
type Installed struct {
	Version  string // without a leading v
	Checkout bool   // built from one; Go gives it a version where git tells one
	Module   bool   // by go install
	Program  string // path, links resolved
	Exists   func(path string) bool
}

// ErrNewer says that there is a newer version.
var ErrNewer = errors.New("there is a newer version")

// Update says what is newest and, if it is newer, how to get it: the error is
// [ErrNewer] then.
func Update(w io.Writer, i Installed, r Release) error {
	have, known := parseVersion(i.Version)
	latest, _ := parseVersion(r.Version) // Newest has checked it
	switch {
	case i.Checkout || !known:
		_, err := fmt.Fprintf(w, "This settle was built from a checkout (%s); the newest release is %s.\n", i.Version, r.Version)
		return err
	case !latest.newer(have):
		_, err := fmt.Fprintf(w, "settle %s is the newest version.\n", i.Version)
		return err
	}
	if _, err := fmt.Fprintf(w, "settle %s is there; this is %s. To get it:\n\n  %s\n", r.Version, i.Version, i.command(r)); err != nil {
		return err
	}
	return ErrNewer
}

// command is what gets a release in the way in which settle was installed.
func (i Installed) command(r Release) string {
	path := filepath.ToSlash(i.Program)
	debian := strings.ReplaceAll(r.Version, "-", "~")
	switch {
	case i.Module:
		return "go install github.com/settle-agent/settle/cmd/settle@v" + r.Version
	case strings.Contains(path, "/node_modules/"):
		return i.npm(r) + "    # with --global if you installed it so"
	case strings.Contains(path, "/Cellar/"):
		return "brew upgrade settle"
	case path == "/usr/bin/settle" && i.Exists("/var/lib/dpkg/info/settle.list"):
		return "download " + r.Files + "/settle_" + debian + "_<amd64 or arm64>.deb, then: sudo apt install ./settle_*.deb"
	case path == "/usr/bin/settle" && (i.Exists("/var/lib/rpm") || i.Exists("/usr/lib/sysimage/rpm")):
		return "sudo rpm --upgrade " + r.Files + "/settle-" + debian + "-1.<x86_64 or aarch64>.rpm"
	case path == "/usr/bin/settle":
		return "start a container from the image of " + r.Version + ": " + r.Files + "/settle_" + r.Version + "_image.tar"
	case strings.HasSuffix(path, ".exe"):
		return "unpack the archive for your machine from " + r.Files
	}
	return "curl -fsSL " + r.Files + "/install.sh | SETTLE_INSTALL_DIR=" + shellQuoted(filepath.Dir(i.Program)) + " sh"
}

// npm is the command that installs the release's package where this one is: for
// everybody, or for a project.
func (i Installed) npm(r Release) string {
	global := ""
	if strings.Contains(filepath.ToSlash(i.Program), "/lib/node_modules/") {
		global = "--global "
	}
	return "npm install " + global + "@settle-agent/settle@" + r.Version
}

func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
