package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// Policy is what a confined command may do. There is no network in it.
type Policy struct {
	// Read are files and folders, absolute, that may be read and executed, with
	// all that is below them. Those that do not exist are left out.
	Read []string `json:"read"`
}

// system is what programs need of a machine, without what holds its secrets
// (/etc/shadow, /etc/ssl/private, /etc/ssh, /root, /home, /var/lib, /run).
var system = []string{
	"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/opt", "/snap", "/nix/store", "/home/linuxbrew/.linuxbrew", "/run/current-system",
	"/proc", "/sys",
	"/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero",
	"/etc/alternatives", "/etc/bash.bashrc", "/etc/ca-certificates", "/etc/debian_version", "/etc/environment", "/etc/fonts", "/etc/gai.conf", "/etc/gitattributes",
	"/etc/gitconfig", "/etc/group", "/etc/host.conf", "/etc/hostname", "/etc/hosts", "/etc/inputrc", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
	"/etc/ld.so.preload", "/etc/ld-musl-aarch64.path", "/etc/ld-musl-x86_64.path", "/etc/locale.alias", "/etc/locale.conf", "/etc/localtime", "/etc/lsb-release",
	"/etc/machine-id", "/etc/magic", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release", "/etc/passwd", "/etc/pki/tls/certs", "/etc/profile",
	"/etc/profile.d", "/etc/protocols", "/etc/resolv.conf", "/etc/services", "/etc/shells", "/etc/ssl/cert.pem", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
	"/etc/static", "/etc/terminfo", "/etc/timezone",
}

// personal are the tools and settings below a home directory that hold no
// secrets.
var personal = []string{
	".asdf/installs", ".asdf/shims", ".bun/bin", ".cargo/bin", ".config/git", ".config/ripgrep", ".deno/bin", ".gitconfig", ".gitignore", ".gitignore_global",
	".inputrc", ".local/bin", ".local/lib", ".local/share/mise/installs", ".nix-profile", ".nvm/versions", ".pyenv/shims", ".pyenv/versions", ".ripgreprc",
	".rustup/toolchains", ".sdkman/candidates", ".terminfo", ".volta/bin", "go/bin", "go/pkg/mod", "sdk",
}

// ReadOnly is the policy of a command that only reads: the folders, the system,
// and the tools on PATH and below the home directory ("" for none).
func ReadOnly(home, path string, folders ...string) Policy {
	p := Policy{Read: slices.Concat(folders, system)}
	if filepath.IsAbs(home) {
		for _, name := range personal {
			p.Read = append(p.Read, filepath.Join(home, name))
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && !above(dir, home) {
			p.Read = append(p.Read, filepath.Clean(dir))
		}
	}
	slices.Sort(p.Read)
	p.Read = slices.Compact(p.Read)
	return p
}

// above says whether dir is the home directory or one that it lies in: a PATH
// with such a folder opens nothing.
func above(dir, home string) bool {
	rel, err := filepath.Rel(dir, home)
	return home != "" && err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
