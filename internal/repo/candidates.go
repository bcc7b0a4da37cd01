package repo

import (
	"os"
	"path/filepath"
	"strings"
)

// Candidates returns what git could take for a repository from dir, an absolute path without links,
// also if [FindGit] fails on it: its directory can be behind a link, a file .git or a commondir,
// and its HEAD and its format do not matter. The result serves to protect files that git may obey,
// and never to run git.
func Candidates(dir string) (list []Git) {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if own := gitDir(filepath.Join(at, ".git")); own != "" {
			list = append(list, Git{at, own, commonDir(own)})
		}
		if exists(at, "HEAD") && (exists(at, "commondir") || exists(at, "objects") && exists(at, "refs")) {
			list = append(list, Git{at, at, commonDir(at)})
		}
		if at == filepath.Dir(at) {
			return list
		}
	}
}

// gitDir follows an entry .git to the directory of the repository; empty if there is none.
func gitDir(entry string) string {
	real, err := filepath.EvalSymlinks(entry)
	if err != nil {
		return ""
	}
	info, err := os.Stat(real)
	if err != nil {
		return ""
	}
	if info.IsDir() {
		return real
	}
	to, ok := strings.CutPrefix(content(real), "gitdir: ")
	if !ok {
		return ""
	}
	return target(filepath.Dir(entry), to)
}

// commonDir returns the directory that the work trees of a repository share.
func commonDir(own string) string {
	if to := content(filepath.Join(own, "commondir")); to != "" {
		if common := target(own, to); common != "" {
			return common
		}
	}
	return own
}

// target returns where a path in a file of git leads; empty if that does not exist.
func target(from, to string) string {
	to = strings.TrimRight(to, "\r\n")
	if !filepath.IsAbs(to) {
		to = from + string(filepath.Separator) + to // not cleaned: links come before ".."
	}
	real, err := filepath.EvalSymlinks(to)
	if err != nil {
		return ""
	}
	return real
}
