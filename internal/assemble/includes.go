package assemble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/internal/repo/quarantine"
	"github.com/settle-agent/settle/internal/sandbox"
	"github.com/settle-agent/settle/tool/shell"
)

// includes are the files that git's configurations include. Git fails if it cannot read one of
// them.
type includes struct {
	// readable are files that the user's own configurations include. Commands read them as
	// they read these configurations.
	readable []string
	// foreign are other included files, without links: a repository's configuration, which another
	// person can have written, includes them, or their names indicate secrets.
	foreign []string
}

// includes returns the included files. write are the folders that commands can change: a
// configuration in them is not the user's own.
func (s *sandboxing) includes(write []string) (in includes) {
	isSteady := func(path string) bool {
		return len(sandbox.Policy{Read: []string{path}}.Steady(write).Read) == 1
	}
	own := map[string]bool{}
	for _, config := range s.configs() {
		own[config] = !filepath.IsAbs(config) || isSteady(config) // of the environment, or a file
	}
	readable := map[string]string{} // by the path without links
	add := func(list []quarantine.Include) {
		for _, one := range list {
			real := real(one.Path)
			switch {
			case own[one.From] && isSteady(one.Path) && !policy.Secret(one.Path) && !policy.Secret(real):
				own[one.Path], readable[real] = true, one.Path
			case readable[real] == "":
				in.foreign = append(in.foreign, real)
			}
		}
	}
	add(quarantine.Includes(s.configs(), s.home))
	var repositories []string
	for _, git := range repo.Candidates(s.dir) {
		repositories = append(
			repositories, filepath.Join(git.Common, "config"), filepath.Join(git.Own, "config.worktree"),
		)
	}
	add(quarantine.Includes(repositories, s.home))
	in.readable = slices.Sorted(maps.Values(readable))
	slices.Sort(in.foreign)
	in.foreign = slices.DeleteFunc(slices.Compact(in.foreign), func(path string) bool { return readable[path] != "" })
	return in
}

// configs returns the included files that can be read below some folders or that are the user's
// own, except files whose names indicate secrets.
func (in includes) configs(folders []string) []string {
	list := slices.Clone(in.readable)
	for _, path := range in.foreign {
		if inside(folders, path) && !policy.Secret(path) {
			list = append(list, path)
		}
	}
	return list
}

// showEmpty has git find the included files empty that the command cannot read: it ignores a
// missing file, and fails on one that it cannot open. The sandbox grants a command the replacement
// of a file, and nothing by these names, which a repository chose. Without an own view of the
// files, the sandbox is unchanged.
func (b *sandboxes) showEmpty(confined shell.Sandbox) shell.Sandbox {
	granted := slices.Concat(confined.Read, confined.Write)
	var empty []string
	for _, path := range b.includes(confined.Write).foreign {
		if disk.WithinAny(confined.Hide, path) && confined.Contents[path] == nil ||
			!slices.ContainsFunc(granted, func(folder string) bool { return disk.Within(real(folder), path) }) {
			empty = append(empty, path)
		}
	}
	if len(empty) == 0 || sandbox.ViewLayer == "" {
		return confined
	}
	if !confined.View {
		_, err := proven().prove(kind{view: true, ownProcesses: confined.OwnProcesses})
		if err != nil || len(confined.Write) > 0 {
			return confined
		}
		confined.View = true
	}
	contents := maps.Clone(confined.Contents)
	if contents == nil {
		contents = map[string][]byte{}
	}
	for _, path := range empty {
		contents[path] = []byte("\n")
		if !slices.Contains(confined.Hide, path) {
			confined.Hide = append(slices.Clip(confined.Hide), path)
		}
	}
	confined.Contents = contents
	return confined
}

// CheckSandboxedGit reports whether git can read its configuration in the sandbox of commands that
// only read.
func (o ExecutorOptions) CheckSandboxedGit(ctx context.Context) (err error) {
	stand, discard := o.Stand()
	defer func() { err = errors.Join(err, discard()) }()
	var out bytes.Buffer
	p, err := stand.Local(nil, "").Start(ctx, executor.Command{
		Script: "git config --list >/dev/null", Dir: o.Dir, Sandbox: event.ReadOnly, Secrets: event.SecretsWithheld,
		Output: &out,
	})
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.End(context.WithoutCancel(ctx), 0)
		return context.Cause(ctx)
	}
	if p.Exit().Code == 0 {
		return nil
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	return fmt.Errorf("%s", lines[0])
}
