package assemble

import (
	"errors"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/repo/quarantine"
)

// errGitWritable: a client that names its own folders may let commands commit.
var errGitWritable = errors.New("the client decides about the repository")

// Guarded returns what settle protects of the folders that a client lets a sandboxed command
// change: the area that is judged afterwards, and the existing files that the command must
// not change. It is the same as for the commands of a session, except that the repository
// stays writable without its hooks and configuration. nested is what git obeys in others, and
// env is the environment of the user.
func Guarded(
	env []string, home, dir string, write []string, nested quarantine.Targets,
) (area quarantine.Area, protect []string) {
	getenv := func(name string) string { return variable(env, name) }
	folders := clientFolders(dir, write)
	if len(folders) == 0 {
		return area, nil
	}
	s := sandboxing{Sandbox: config.Sandbox{Write: folders[1:]}, dir: folders[0], home: home, userEnv: env}
	s.viewless = errGitWritable
	s.userFiles = slices.Concat(config.UserPlaces(runtime.GOOS, getenv), s.gitConfigs(), s.startFiles())
	b := &sandboxes{sandboxing: s, confinement: new(confinement)}
	t := b.protects(b.writable(), nested)
	return b.areaExcept(), append(t.Existing, t.Links...)
}

// clientFolders returns writable folders without links, with the folder around the working
// directory first. The file system as a whole takes too long to look through: instead of it,
// the working directory counts.
func clientFolders(dir string, write []string) (list []string) {
	dir = real(dir)
	for _, path := range write {
		path = real(path)
		if filepath.Dir(path) == path {
			path = dir
		}
		if !disk.Exists(path) || slices.Contains(list, path) {
			continue // nothing can be changed there
		}
		if disk.Within(path, dir) {
			list = slices.Insert(list, 0, path)
		} else {
			list = append(list, path)
		}
	}
	return list
}
