package lsp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Language is a language server and the files that it serves.
type Language struct {
	// Name is the name of the server and of its program.
	Name string
	// Args are the arguments that make it speak on its standard streams.
	Args []string
	// IDs are the protocol's names of languages, by the extension of files.
	IDs map[string]string
	// Markers are the files that make a directory a project of the language, and Settings
	// are further files that the server reads.
	Markers, Settings []string
	// Env are variables of the server: it must neither download a toolchain nor write into
	// the project.
	Env []string
	// Options are the server's initialization options.
	Options map[string]any
	// Quiet is the time without a published message after which settle assumes that the server has
	// finished.
	Quiet time.Duration
	// Work begins the titles of the work that the server reports for its start and for each
	// message about files: its errors are complete when all of it has ended. A server without
	// such titles has finished when it reports no work and is quiet; settle waits for the end
	// of its work for a bounded time.
	Work string
	// Ignores reports whether the server never checks the files in a folder with the name; nil
	// if there are none.
	Ignores func(folder string) bool

	program string // absolute; set by Installed
}

// Languages are the servers that settle knows. All of them publish errors.
func Languages() []Language {
	script := map[string]string{
		".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
		".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
	}
	return []Language{
		{
			Name: "gopls", IDs: map[string]string{".go": "go"}, Markers: []string{"go.mod", "go.work"},
			Settings: []string{"go.sum"}, Env: []string{"GOTOOLCHAIN=local"}, Quiet: 100 * time.Millisecond,
			Options: map[string]any{
				"diagnosticsDelay": "0s", // errors in other packages do not come later
				// gopls publishes no errors of a file before it knows the file's package: only the end of
				// its work shows that they are complete. Its own tests wait in this way.
				"verboseWorkDoneProgress": true,
				"symbolScope":             "workspace", // not the standard library's
			},
			Work: "diagnosing ",
			Ignores: func(folder string) bool {
				return folder == "testdata" || strings.HasPrefix(folder, "_") || strings.HasPrefix(folder, ".")
			},
		},
		{
			Name: "typescript-language-server", Args: []string{"--stdio"}, IDs: script,
			Markers: []string{"tsconfig.json", "jsconfig.json", "package.json"}, Quiet: 400 * time.Millisecond,
		},
		{
			Name: "pyright-langserver", Args: []string{"--stdio"},
			IDs:     map[string]string{".py": "python", ".pyi": "python"},
			Markers: []string{"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "pyrightconfig.json"},
			Quiet:   400 * time.Millisecond,
		},
		{
			Name: "rust-analyzer", IDs: map[string]string{".rs": "rust"}, Markers: []string{"Cargo.toml"},
			Settings: []string{"Cargo.lock"}, Env: []string{"CARGO_NET_OFFLINE=true", "RUSTUP_AUTO_INSTALL=0"},
			Quiet: time.Second,
		},
	}
}

// Names returns the names of all servers.
func Names() (names []string) {
	for _, l := range Languages() {
		names = append(names, l.Name)
	}
	return names
}

// Installed returns the servers with the names whose programs find returns.
func Installed(names []string, find func(program string) (string, error)) (list []Language) {
	for _, l := range Languages() {
		if !slices.Contains(names, l.Name) {
			continue
		}
		if program, err := find(l.Name); err == nil && filepath.IsAbs(program) {
			l.program = program
			list = append(list, l)
		}
	}
	return list
}

// maxAbove bounds how many parents of the directory are searched for a project.
const maxAbove = 10

// ServesProject reports whether the directory, a parent or a folder in it is a project of
// the language.
func (l Language) ServesProject(dir string) bool {
	exists := func(folder string) bool {
		return slices.ContainsFunc(l.Markers, func(name string) bool {
			info, err := os.Lstat(filepath.Join(folder, name))
			return err == nil && info.Mode().IsRegular()
		})
	}
	for at, n := dir, 0; n < maxAbove; n++ {
		if exists(at) {
			return true
		}
		above := filepath.Dir(at)
		if above == at {
			break
		}
		at = above
	}
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.IsDir() && !strings.HasPrefix(e.Name(), ".") && exists(filepath.Join(dir, e.Name()))
	})
}

// id returns the protocol's language of a file; "" if the server does not serve it.
func (l Language) id(path string) string { return l.IDs[strings.ToLower(filepath.Ext(path))] }

// ignores reports whether the server never checks a file below the directory. The server can
// check files elsewhere: the project can be above the directory.
func (l Language) ignores(dir, path string) bool {
	rel, err := filepath.Rel(dir, filepath.Dir(path))
	return err == nil && rel != "." && filepath.IsLocal(rel) && l.Ignores != nil &&
		slices.ContainsFunc(strings.Split(filepath.ToSlash(rel), "/"), l.Ignores)
}

// reads reports whether the server reads a file by its name.
func (l Language) reads(name string) bool {
	return l.id(name) != "" || slices.Contains(l.Markers, name) || slices.Contains(l.Settings, name)
}
