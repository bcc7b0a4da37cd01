package execserver

import (
	"os"
	"path/filepath"
	"runtime"
)

// about describes this machine to clients. It leaves out capabilities that settle does not have;
// clients then use other methods.
type about struct {
	Shell        shell           `json:"shell"`
	Version      string          `json:"executorVersion"`
	Dir          place           `json:"cwd"`
	Home         *place          `json:"userHomeDir"`
	OS           string          `json:"platformOs"`
	PATH         []place         `json:"prependPathDirs"`
	Temporary    []place         `json:"temporaryDirectories"`
	TempDir      place           `json:"tempDir"`
	Capabilities map[string]bool `json:"capabilities"`
}

type shell struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

func (s *Server) about() about {
	a := about{
		Shell: s.shell(), Version: s.options.Version, Dir: place(s.options.Dir), OS: runtime.GOOS,
		PATH: []place{}, Temporary: []place{}, TempDir: place(s.options.TempDir), Capabilities: map[string]bool{},
	}
	if filepath.IsAbs(s.options.Home) {
		home := place(filepath.Clean(s.options.Home))
		a.Home = &home
	}
	return a
}

// shell returns the shell with which clients run commands: the user's shell, or another one that
// exists.
func (s *Server) shell() shell {
	if runtime.GOOS == "windows" {
		return shell{"cmd", "cmd.exe"}
	}
	names := map[string]bool{"bash": true, "zsh": true, "sh": true, "dash": true}
	for _, path := range []string{s.options.Shell, "/bin/bash", "/usr/bin/bash", "/bin/zsh", "/bin/sh"} {
		name := filepath.Base(path)
		if info, err := os.Stat(path); err == nil && filepath.IsAbs(path) && names[name] &&
			info.Mode().Perm()&0o111 != 0 {
			if name == "dash" {
				name = "sh"
			}
			return shell{name, path}
		}
	}
	return shell{"sh", "/bin/sh"}
}
