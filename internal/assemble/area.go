package assemble

import (
	"path/filepath"
	"slices"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/internal/repo/quarantine"
	"github.com/settle-agent/settle/internal/sandbox"
)

// area returns the folders in which a sandboxed command could leave repositories.
func (b *sandboxes) area() quarantine.Area {
	git, around := b.repository(b.dir)
	a := quarantine.Area{}
	if private, err := b.own(); err == nil { // no one runs git there
		a.Hidden = []string{real(private), real(b.cache(private))}
	}
	for _, path := range b.writable() {
		if quarantine.IsShared(path) {
			a.Hidden = append(a.Hidden, path)
		} else if !slices.ContainsFunc(a.Hidden, func(hidden string) bool { return sandbox.Contains(hidden, path) }) {
			a.Look = append(a.Look, path)
		}
		if own := filepath.Join(path, ".git"); b.keepsGit() && exists(own) {
			a.Keep = append(a.Keep, own)
		}
	}
	if around && b.keepsGit() {
		a.Keep = append(a.Keep, git.Own, git.Common)
		_, a.Obeyed = b.obeyed(git, around)
	}
	if around && b.Git == config.GitWrite {
		a.Look = append(a.Look, git.Own, git.Common)
	}
	return a
}

// writable returns the folders that commands can change, except the session's own.
func (b *sandboxes) writable() (list []string) {
	all := append([]string{b.dir}, b.paths(b.Write)...)
	for _, path := range append(all, b.wishes().Write...) {
		list = append(list, real(path))
	}
	return list
}

// obeyed returns the files in writable folders that git runs or obeys because the user's
// configurations name them: existing files, and absent files.
func (b *sandboxes) obeyed(git repo.Git, around bool) (existing, absent []string) {
	if !around {
		return nil, nil
	}
	configs := []string{"/etc/gitconfig", filepath.Join(b.home, ".gitconfig"), filepath.Join(b.home, ".config", "git", "config")}
	if own := variable(b.env, "XDG_CONFIG_HOME"); own != "" {
		configs = append(configs, filepath.Join(own, "git", "config"))
	}
	configs = append(configs, filepath.Join(git.Common, "config"), filepath.Join(git.Own, "config.worktree"))
	folders := b.writable()
	return quarantine.Obeyed(configs, git.Top, b.home, func(path string) bool {
		return slices.ContainsFunc(folders, func(folder string) bool { return folder != path && sandbox.Contains(folder, path) })
	})
}
