package assemble

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/internal/sandbox"
	"github.com/settle-agent/settle/tool/shell"
)

// hiding returns the sandbox of a command without an approval: it cannot open the files
// with secrets in the working directory, and reads git's configurations without their
// credentials. If the kernel cannot enforce that, the command does not run.
func (b *sandboxes) hiding(confined shell.Sandbox, dir string) (shell.Sandbox, error) {
	found, err := b.secretFiles(&b.sandboxing, b.wishes(), dir)
	if err != nil || len(found) == 0 {
		return confined, err
	}
	contents := b.files.Contents(found)
	if sandbox.ViewLayer == "" { // git needs its configurations, and this system shows no other content
		found = slices.DeleteFunc(found, func(path string) bool { return contents[path] != nil })
		contents = nil
	}
	if len(confined.Write) == 0 {
		k := kind{view: true, ownProcesses: confined.OwnProcesses}
		if _, err := proven().prove(k); err == nil {
			confined.View = true
		} else if len(contents) > 0 {
			return shell.Sandbox{}, b.refusedFor(slices.Sorted(maps.Keys(contents)))
		} else if _, err := proven().prove(kind{ownProcesses: k.ownProcesses}); err != nil { // C22
			return shell.Sandbox{}, err
		}
	} else if !confined.View && sandbox.ViewLayer != "" {
		return shell.Sandbox{}, b.refusedFor(found)
	}
	confined.Hide, confined.Contents = found, contents
	return confined, nil
}

// refusedFor is the error of a command that does not run, because it could read files with secrets.
func (b *sandboxes) refusedFor(found []string) error {
	if b.unasked {
		return errors.New(exposed(found))
	}
	return fmt.Errorf("%s; call it again with \"outside\": true, so that a person decides", exposed(found))
}

// keepSecretFiles has the next session in the directory hide the files that this session finds,
// under every name.
func (b *confinement) keepSecretFiles(log *slog.Logger) {
	if b.remote == nil && b.sandbox.dataDir != "" {
		b.files.Keep(secretRecord(b.sandbox.dataDir, b.sandbox.dir), log)
	}
}

func secretRecord(dataDir, dir string) string {
	return filepath.Join(dataDir, "secret-files", directoryID(dir))
}

// secretFiles returns the files and folders with secrets in the reach of commands: below
// the working directory, the top of its repository, and the folders that a client adds,
// except folders for temporary files. The user's own "sandbox.read" and "sandbox.write" are
// exceptions, except for files that were found elsewhere before.
func (b *confinement) secretFiles(s *sandboxing, more wishes, dir string) ([]string, error) {
	roots := []string{s.dir}
	if real, err := filepath.EvalSymlinks(dir); err != nil || !disk.Within(s.dir, real) {
		dir = s.dir
	}
	if git, err := repo.FindGit(dir); err == nil && git.Top != "" {
		if roots = append(roots, git.Own, git.Common); !disk.Within(git.Top, s.home) {
			roots = append(roots, git.Top)
		}
	}
	temporary := append([]string{os.TempDir(), "/tmp", variable(b.env, "TMPDIR")}, more.Temporary...)
	roots = append(roots, slices.DeleteFunc(slices.Clone(more.Write),
		func(path string) bool { return slices.Contains(temporary, path) })...)
	granted := s.paths(slices.Concat(s.Read, s.Write)) // as written: a command could replace one by a link
	found, err := b.files.Below(func(path string) bool {
		return slices.ContainsFunc(granted,
			func(grant string) bool { return disk.Within(filepath.Clean(grant), path) })
	}, roots...)
	if err != nil {
		return nil, err
	}
	included := s.includes(slices.Concat(s.paths(s.Write), more.Write, []string{s.dir}))
	users, err := b.files.Configs(append(s.gitConfigs(), included.configs(roots)...)...)
	found = append(found, users...)
	slices.Sort(found)
	return slices.Compact(found), err
}

// exposes returns the reason why a sandbox cannot hide files with secrets in the mode in
// force; empty if it can.
func (b *confinement) exposes(mode func() Mode) func(event.Sandbox) string {
	return func(confined event.Sandbox) string {
		more := wishes{}
		if !b.sandbox.chosen {
			more = wishes(mode().Extent)
		}
		found, err := b.secretFiles(&b.sandbox, more, b.sandbox.dir)
		if err != nil {
			return err.Error()
		}
		if len(found) > 0 && confined == event.Workspace && b.sandbox.viewless != nil {
			return exposed(found)
		}
		if confined == event.ReadOnly && sandbox.ViewLayer != "" {
			contents := b.files.Contents(found)
			_, err := proven().prove(kind{view: true, ownProcesses: b.sandbox.crowded == nil})
			if err != nil && len(contents) > 0 {
				return exposed(slices.Sorted(maps.Keys(contents)))
			}
		}
		return ""
	}
}

// maxExposed bounds the named files.
const maxExposed = 3

// exposed is the message for files that cannot be hidden.
func exposed(found []string) string {
	more := ""
	if len(found) > maxExposed {
		found, more = found[:maxExposed], fmt.Sprintf(" and %d more", len(found)-maxExposed)
	}
	return fmt.Sprintf("the sandbox cannot hide files with secrets on this machine (it takes user namespaces): %s%s",
		strings.Join(found, ", "), more)
}

// report describes the sandbox for the log, and the secrets that commands without an
// approval do not receive.
func (b *confinement) report(m Mode) *event.Confinement {
	c := b.sandbox.report(m)
	if m.Permission == event.Allow || m.Permission == event.Deny { // the user wants every call, or no call runs
		return c
	}
	c.Withheld = &event.Withheld{Files: event.FilesHidden}
	if proc.Confines() != nil && b.remote == nil || c.Mode == event.Workspace && b.sandbox.viewless != nil {
		c.Withheld.Files = event.FilesAsked
	}
	if b.remote != nil { // this machine does not know its environment
		return c
	}
	for _, entry := range b.env {
		if name, value, _ := strings.Cut(entry, "="); name != "" && b.secret(name, value) {
			c.Withheld.Variables = append(c.Withheld.Variables, name)
		}
	}
	slices.Sort(c.Withheld.Variables)
	return c
}
