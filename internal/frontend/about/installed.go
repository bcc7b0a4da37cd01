package about

import (
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/internal/terminal"
)

// Installed describes how settle was installed on this machine.
type Installed struct {
	Version  string // without a leading v
	Checkout bool   // built from a checkout; if git describes it, Go gives it a version
	Module   bool   // by go install
	Program  string // path, links resolved
	System   string // GOOS
	Machine  string // GOARCH
	Exists   func(path string) bool
}

// standalone reports whether the program is a file by itself: from an archive or the
// install script. Otherwise a package manager, or Go, owns it.
func (i Installed) standalone() bool {
	path := filepath.ToSlash(i.Program)
	return !i.Module && !i.Checkout && path != "/usr/bin/settle" && !strings.HasSuffix(path, ".exe") &&
		!strings.Contains(path, "/node_modules/") && !strings.Contains(path, "/Cellar/")
}

// command returns the command that installs a release in the same way as this settle was
// installed.
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
	return "curl --proto '=https' --tlsv1.2 -fsSL " + r.Files +
		"/install.sh | SETTLE_INSTALL_DIR=" + terminal.ShellWord(
		filepath.Dir(i.Program),
	) + " sh"
}

// npm returns the command that installs the release's package in the same place: globally,
// or in a project.
func (i Installed) npm(r Release) string {
	global := ""
	if strings.Contains(filepath.ToSlash(i.Program), "/lib/node_modules/") {
		global = "--global "
	}
	return "npm install " + global + "@settle-agent/settle@" + r.Version
}
