package quarantine

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/repo"
)

// otherHost matches the URLs of other machines: with a scheme, or a host before the first
// slash.
var otherHost = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[A-Za-z0-9+.-]+://|[^/]*:)`) })

// local reports whether a remote can have this URL: it is at another machine, or a path that
// leads to no folder where commands can write and nobody looks. By ssh to this machine, git would run the
// hooks of any folder as this user.
func (at place) local(remote string) bool {
	path, isFile := strings.CutPrefix(remote, "file://")
	switch {
	case isFile:
		decoded, err := url.PathUnescape(path) // as git does
		if err != nil {
			return false
		}
		if path = decoded; !strings.HasPrefix(path, "/") { // git keeps both slashes
			path = "/" + path
		}
	case otherHost().MatchString(remote):
		scheme, _, hasScheme := strings.Cut(remote, "://")
		return hasScheme && !strings.Contains(scheme, "ssh") || !repo.IsThisMachine(remote)
	}
	if rest, home := strings.CutPrefix(path, "~"); home { // git expands it, also for a remote
		if at.guard.area.Home == "" || rest != "" && rest[0] != '/' {
			return false
		}
		path = at.guard.area.Home + rest
	}
	if filepath.IsAbs(path) {
		_, ok := at.guard.follow(string(filepath.Separator), path)
		return ok
	}
	for _, from := range at.origins() {
		if _, ok := at.guard.follow(from, path); !ok {
			return false
		}
	}
	return true
}

// origins are the folders that git can take a relative path from: the repository's, the one
// above, and a work tree elsewhere, which counts as a folder at any depth.
func (at place) origins() (list []string) {
	for _, folder := range append([]string{at.path}, at.guard.area.Look...) {
		for {
			list = append(list, folder)
			above := filepath.Dir(folder)
			if above == folder {
				break
			}
			folder = above
		}
	}
	return list
}
