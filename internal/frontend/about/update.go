package about

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
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

// Newest asks for the index at an https URL.
func Newest(ctx context.Context, client *http.Client, url string) (Release, error) {
	body, err := download(ctx, client, url, maxIndex, indexTimeout)
	if err != nil {
		return Release{}, fmt.Errorf("cannot find out the newest version: %w", err)
	}
	url = redacted(url)
	var r Release
	if err := json.Unmarshal(body, &r); err != nil {
		return Release{}, fmt.Errorf("%s is not an index of releases", url)
	}
	if _, ok := parseVersion(r.Version); !ok || !plainURL(r.Files) {
		return Release{}, fmt.Errorf(
			"%s is not an index of releases: it lacks a version or the https address of its files", url,
		)
	}
	return r, nil
}

// plainURL reports whether text is an https URL without characters that a shell interprets.
func plainURL(text string) bool {
	return strings.HasPrefix(text, "https://") && !strings.ContainsFunc(text, func(c rune) bool {
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
func (n number) newer(than number) bool {
	for i := range n.core {
		if n.core[i] != than.core[i] {
			return n.core[i] > than.core[i]
		}
	}
	if n.pre == "" || than.pre == "" {
		return n.pre == "" && than.pre != ""
	}
	a, b := strings.Split(n.pre, "."), strings.Split(than.pre, ".")
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
