package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/settle-agent/settle/internal/disk"
)

// Network is the network of a sandboxed command.
type Network string

// The networks.
const (
	// Offline is no network, not even the loopback. The zero value.
	Offline Network = ""
	// Proxied allows TCP connections to the port of a proxy on this machine only.
	Proxied Network = "proxy"
	// Online is the user's network.
	Online Network = "on"
)

// ConnectName is the first argument of a program that carries its standard input and output to a
// host through the proxy in ALL_PROXY, as ssh's ProxyCommand. Host and port are the other
// arguments.
const ConnectName = "settle-connect"

// NetworkOf returns the network of a word in the configuration: off, proxy or on.
func NetworkOf(word string) Network {
	if n := Network(word); n == Online || n == Proxied {
		return n
	}
	return Offline
}

// Policy describes the permissions of a sandboxed command.
type Policy struct {
	// Read are absolute paths of files and folders that may be read and executed recursively.
	// Missing ones are ignored.
	Read []string `json:"read"`
	// Write are folders that may be read and changed recursively. A policy without any is for
	// commands that only read.
	Write   []string `json:"write,omitempty"`
	Network Network  `json:"network,omitempty"`
	// Port is the port of the proxy.
	Port uint16 `json:"port,omitempty"`
	// OwnNetwork gives the command a network of its own with a loopback interface only, and its
	// own System V and POSIX queues. It has the requirements of View. Without it, a proxied
	// command can also connect to the port of the proxy on other machines: Landlock restricts
	// ports, not addresses.
	OwnNetwork bool `json:"apart,omitempty"`
	// View gives the command its own mounts, in which also modes, owners and times outside of
	// Write are read-only; Protect are files and folders in Write that are read-only. It
	// requires user namespaces, or a user who may mount.
	View    bool     `json:"view,omitempty"`
	Protect []string `json:"protect,omitempty"`
	// Pinned are folders in Write that View keeps at their names, such as the working
	// directory: settle finds them by these names.
	Pinned []string `json:"pinned,omitempty"`
	// OwnProcesses gives the command a /proc with the processes of its call only. The caller of
	// [Enter] must be the first process of a process namespace; otherwise it has the
	// requirements of View.
	OwnProcesses bool `json:"own_processes,omitempty"`
	// Hide are files and folders in Read and Write that cannot be opened, or any files that show
	// another content. In a policy with Write, and for another content, it requires View.
	Hide []Hidden `json:"hide,omitempty"`
}

// Hidden is a hidden file or folder with its identity: if another one is in its place, the
// command does not start.
type Hidden struct {
	Path   string `json:"path"` // absolute, without links
	Device uint64 `json:"device,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
	// Content replaces the content of the file for the command, also of a file that is not in Read;
	// nil for a file that the command cannot open.
	Content []byte `json:"content,omitempty"`
}

// ChangedError reports that a file that must be hidden was moved, replaced or created while
// a command was started.
type ChangedError struct{ Path string }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%q was moved or replaced while the command was started; nothing ran, call it again", e.Path)
}

// Unhidden returns an error if a policy that was made later hides a file that this one
// does not. A mount stays on its file, so files count, and not their paths.
func (p Policy) Unhidden(later Policy) error {
	for _, h := range later.Hide {
		if !slices.ContainsFunc(
			p.Hide, func(old Hidden) bool { return old.Device == h.Device && old.Inode == h.Inode },
		) {
			return &ChangedError{h.Path}
		}
	}
	return nil
}

// FindAll finds each of the paths, with the other content that some of them show; missing ones
// are ignored.
func FindAll(paths []string, contents map[string][]byte) (list []Hidden, err error) {
	for _, path := range paths {
		hidden, err := Find(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		hidden.Content = contents[path]
		list = append(list, hidden)
	}
	return list, nil
}

// system are the paths that programs need, without secrets (/etc/shadow, /etc/ssl/private,
// /etc/ssh, /root, /home, /var/lib, /run).
var system = []string{
	"/bin",
	"/sbin",
	"/lib",
	"/lib32",
	"/lib64",
	"/libx32",
	"/usr",
	"/opt",
	"/snap",
	"/nix/store",
	"/home/linuxbrew/.linuxbrew",
	"/run/current-system",
	"/proc",
	"/sys",
	"/dev/full",
	"/dev/null",
	"/dev/random",
	"/dev/urandom",
	"/dev/zero",
	"/etc/alternatives",
	"/etc/bash.bashrc",
	"/etc/ca-certificates",
	"/etc/debian_version",
	"/etc/environment",
	"/etc/fonts",
	"/etc/gai.conf",
	"/etc/gitattributes",
	"/etc/gitconfig",
	"/etc/group",
	"/etc/host.conf",
	"/etc/hostname",
	"/etc/hosts",
	"/etc/inputrc",
	"/etc/ld.so.cache",
	"/etc/ld.so.conf",
	"/etc/ld.so.conf.d",
	"/etc/ld.so.preload",
	"/etc/ld-musl-aarch64.path",
	"/etc/ld-musl-x86_64.path",
	"/etc/locale.alias",
	"/etc/locale.conf",
	"/etc/localtime",
	"/etc/lsb-release",
	"/etc/machine-id",
	"/etc/magic",
	"/etc/mime.types",
	"/etc/nsswitch.conf",
	"/etc/os-release",
	"/etc/passwd",
	"/etc/pki/tls/certs",
	"/etc/profile",
	"/etc/profile.d",
	"/etc/protocols",
	"/etc/resolv.conf",
	"/etc/services",
	"/etc/shells",
	"/etc/ssl/cert.pem",
	"/etc/ssl/certs",
	"/etc/ssl/openssl.cnf",
	"/etc/static",
	"/etc/terminfo",
	"/etc/timezone",
}

// personal are the tools and settings in a home directory without secrets.
var personal = []string{
	".asdf/installs",
	".asdf/shims",
	".bun/bin",
	".cargo/bin",
	".config/git/attributes",
	".config/git/config",
	".config/git/ignore",
	".config/go/env",
	".config/ripgrep",
	".deno/bin",
	".gitconfig",
	".gitignore",
	".gitignore_global",
	".inputrc",
	".local/bin",
	".local/lib",
	".local/share/mise/installs",
	".nix-profile",
	".nvm/alias",
	".nvm/nvm.sh",
	".nvm/versions",
	".pyenv/bin",
	".pyenv/libexec",
	".pyenv/plugins",
	".pyenv/shims",
	".pyenv/version",
	".pyenv/versions",
	".ripgreprc",
	".rustup/toolchains",
	".sdkman/candidates",
	".terminfo",
	".volta/bin",
	"go/bin",
	"go/pkg/mod",
	"sdk",
}

// caches are the downloads and build results of tools in a home directory.
var caches = []string{
	".cache/go-build",
	".cache/ms-playwright",
	".cache/pip",
	".cache/pypoetry",
	".cache/uv",
	".cargo/config.toml",
	".cargo/env",
	".cargo/git",
	".cargo/registry",
	".gradle/caches",
	".gradle/wrapper",
	".local/share/uv",
	".local/share/virtualenvs",
	".m2/repository",
	".npm/_cacache",
	".rustup/settings.toml",
}

// Workspace is the policy of a command that works in folders: it may read like ReadOnly, read
// the tools' caches, and change the folders.
func Workspace(home, path string, read, write []string) Policy {
	p := ReadOnly(home, path, read...)
	if filepath.IsAbs(home) {
		for _, name := range caches {
			p.Read = append(p.Read, filepath.Join(home, name))
		}
	}
	p.Write = slices.Clone(write)
	slices.Sort(p.Write)
	p.Write = slices.Compact(p.Write)
	return p
}

// ReadOnly is the policy of a command that only reads: the folders, the system, and the tools on
// PATH and in the home directory ("" for none).
func ReadOnly(home, path string, folders ...string) Policy {
	p := Policy{Read: slices.Concat(folders, system)}
	if runtime.GOOS == "darwin" {
		p.Read = append(p.Read, places(system, macOS)...)
	}
	if filepath.IsAbs(home) {
		for _, name := range personal {
			p.Read = append(p.Read, filepath.Join(home, name))
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && !disk.Within(dir, home) {
			p.Read = append(p.Read, filepath.Clean(dir))
			if filepath.Base(dir) == "shims" { // of pyenv, rbenv, asdf: scripts that start programs in these folders
				for _, name := range []string{"bin", "installs", "libexec", "plugins", "version", "versions"} {
					p.Read = append(p.Read, filepath.Join(filepath.Dir(dir), name))
				}
			}
		}
	}
	slices.Sort(p.Read)
	p.Read = slices.Compact(p.Read)
	return p
}

// MayRead and MayWrite report the policy's rights on an absolute path without links.
func (p Policy) MayRead(path string) bool {
	return !p.hides(path) &&
		disk.WithinAny(slices.Concat(p.Read, p.Write), path)
}

// hides reports whether the path is hidden, or below a folder that is, and shows no other content.
func (p Policy) hides(path string) bool {
	if slices.ContainsFunc(p.Hide, func(h Hidden) bool { return h.Content != nil && h.Path == path }) {
		return false
	}
	return slices.ContainsFunc(p.Hide, func(h Hidden) bool { return h.Content == nil && disk.Within(h.Path, path) })
}

// MayWrite reports whether the path may be changed.
func (p Policy) MayWrite(path string) bool {
	return !p.hides(path) && disk.WithinAny(p.Write, path) && !disk.WithinAny(p.Protect, path)
}
