package assemble

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
)

// CheckDirectory refuses the root of the file system and the user's home as the working
// directory of an agent that can change all files outside a container, unless --permission
// allow is explicit.
func CheckDirectory(dir string, r *config.Resolved, getenv func(string) string) error {
	allowed := r.Permission == "" || r.Permission == event.Allow
	if !allowed || r.Origins["permission"].Kind == config.Flag || inContainer(getenv) {
		return nil
	}
	var what string
	switch {
	case filepath.Dir(real(dir)) == real(dir):
		what = "the root of the file system"
	case getenv("HOME") != "" && real(dir) == real(getenv("HOME")):
		what = "your home directory"
	default:
		return nil
	}
	return &config.Error{
		Where: "working directory",
		Message: fmt.Sprintf("refusing to work in %q, %s, where a mistake could affect everything; "+
			"change to a project directory or name one with -C, or use --permission allow if you mean it", dir, what),
	}
}

// WorkDir returns the clean working directory that a client names. It must be absolute and
// exist.
func WorkDir(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("the working directory %q is not absolute", path)
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return "", fmt.Errorf("there is no directory %q to work in", path)
	}
	return filepath.Clean(path), nil
}

func real(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return filepath.Clean(path)
}

// inContainer reports whether this process seems to run in a container, whose root is not
// the machine's.
func inContainer(getenv func(string) string) bool {
	for _, name := range []string{"container", "KUBERNETES_SERVICE_HOST"} {
		if getenv(name) != "" {
			return true
		}
	}
	for _, path := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	groups, err := os.ReadFile("/proc/1/cgroup")
	if err != nil {
		return false
	}
	for _, word := range []string{"docker", "kubepods", "containerd", "libpod", "lxc"} {
		if strings.Contains(string(groups), word) {
			return true
		}
	}
	return false
}
