package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/settle-agent/settle/internal/disk"
)

// UserFile is the path of the user's own file: in the XDG configuration directory, or in
// %AppData% on Windows. Empty if the environment names no directory.
func UserFile(goos string, getenv func(string) string) string {
	dir := absolute(getenv("XDG_CONFIG_HOME"))
	if dir == "" && goos == "windows" {
		dir = absolute(getenv("AppData"))
	}
	if dir == "" {
		dir = under(getenv, ".config")
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "settle", "config.toml")
}

// UserPlaces are the files and folders of the user, outside of projects, from which
// settle takes its configuration, hooks, servers and skills. They need not exist.
func UserPlaces(goos string, getenv func(string) string) (list []string) {
	if file := UserFile(goos, getenv); file != "" {
		list = append(list, filepath.Dir(file))
	}
	for _, of := range []struct{ variable, name string }{{"CLAUDE_CONFIG_DIR", ".claude"}, {"CODEX_HOME", ".codex"}} {
		list = append(list, absolute(getenv(of.variable)), under(getenv, of.name))
	}
	list = append(list, under(getenv, ".claude.json"), under(getenv, ".agents"))
	return slices.DeleteFunc(list, func(path string) bool { return path == "" })
}

// dataDir is the default data directory.
func dataDir(goos string, getenv func(string) string) string {
	dir := absolute(getenv("XDG_DATA_HOME"))
	switch {
	case dir != "":
	case goos == "windows":
		dir = absolute(getenv("LocalAppData"))
	case goos == "darwin":
		dir = under(getenv, "Library", "Application Support")
	default:
		dir = under(getenv, ".local", "share")
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "settle")
}

// FindsDataDir reports whether settle finds the data directory without a flag or variable.
func (r *Resolved) FindsDataDir() bool {
	kind := r.Origins["data_dir"].Kind
	return kind != Flag && kind != Env
}

// NeedDataDir returns the data directory, or an error that states how to set it.
func (r *Resolved) NeedDataDir() (string, error) {
	if r.DataDir == "" {
		return "", &Error{
			Where:   "data_dir",
			Message: "there is no directory for sessions: neither data_dir nor HOME is set; set SETTLE_DATA_DIR, or use --ephemeral",
		}
	}
	return r.DataDir, nil
}

// absolute ignores a relative path, as the XDG specification requires.
func absolute(path string) string {
	if !filepath.IsAbs(path) {
		return ""
	}
	return path
}

func under(getenv func(string) string, parts ...string) string {
	home := absolute(getenv("HOME"))
	if home == "" {
		home = absolute(getenv("USERPROFILE"))
	}
	if home == "" {
		return ""
	}
	return filepath.Join(append([]string{home}, parts...)...)
}

// expand makes a path absolute, from "~/" or from the given directory.
func expand(path, from string, getenv func(string) string) string {
	if path == "" {
		return ""
	}
	return disk.AbsoluteIn(from, disk.ExpandHome(path, under(getenv)))
}

// missing reports that a file does not exist, also because a parent is a file.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
