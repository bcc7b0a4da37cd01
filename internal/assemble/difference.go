package assemble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// baseTimeout bounds the calls of git that look for commits, and listTimeout the calls that
	// list files: they read the whole working tree.
	baseTimeout = 20 * time.Second
	listTimeout = time.Minute
	// maxGitError bounds the error text of git in a message, in bytes.
	maxGitError = 300
)

// Repository is the git repository of a directory, as the reviews of changes see it. Errors name the
// directory or the commit, and have git's words.
type Repository struct {
	dir     string
	environ []string
}

// OpenRepository returns the repository of dir, which must have a working tree.
func OpenRepository(ctx context.Context, environ []string, dir string) (Repository, error) {
	r := Repository{dir: dir, environ: environ}
	ctx, cancel := context.WithTimeout(ctx, baseTimeout)
	defer cancel()
	out, err := readGit(ctx, environ, dir, "rev-parse", "--is-inside-work-tree")
	switch {
	case err != nil:
		return r, err
	case out.OK() && strings.TrimSpace(string(out.Stdout)) == "true":
		return r, nil
	case out.OK():
		return r, fmt.Errorf("the git repository of %q has no working tree", dir)
	case strings.Contains(string(out.Stderr), "not a git repository"):
		return r, fmt.Errorf("there is no git repository in %q", dir)
	}
	return r, fmt.Errorf("git cannot read the repository of %q: %s", dir, gitError(out.Stderr))
}

// gitError returns the error text of git, on one line.
func gitError(stderr []byte) string { return bound.Clip(terminal.OneLine(string(stderr)), maxGitError) }

// read returns the standard output of a git command that reads.
func (r Repository) read(ctx context.Context, args ...string) (string, error) {
	out, err := readGit(ctx, r.environ, r.dir, args...)
	if err != nil {
		return "", err
	}
	if !out.OK() {
		return "", fmt.Errorf("git failed: %s", gitError(out.Stderr))
	}
	return string(out.Stdout), nil
}

// Prefix returns the directory relative to the top of the repository, with a slash at the end; "" for
// the top, and if git does not say it.
func (r Repository) Prefix(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, baseTimeout)
	defer cancel()
	out, _ := r.read(ctx, "rev-parse", "--show-prefix") // without it, names are relative to the top
	return strings.TrimSuffix(out, "\n")
}

// Base is a commit, and its newest common ancestor with HEAD.
type Base struct{ Commit, Ancestor string }

// Base returns the commit that a name means. It must have a common ancestor with HEAD.
func (r Repository) Base(ctx context.Context, name string) (Base, error) {
	ctx, cancel := context.WithTimeout(ctx, baseTimeout)
	defer cancel()
	commit, err := r.commit(ctx, name)
	if err != nil {
		return Base{}, err
	}
	ancestor, err := r.ancestor(ctx, commit, "HEAD")
	if err != nil {
		return Base{}, err
	}
	return Base{commit, ancestor}, nil
}

// Range returns the commits at the ends of a range; fromAncestor begins it at their newest common
// ancestor.
func (r Repository) Range(ctx context.Context, from, to string, fromAncestor bool) (first, last string, err error) {
	ctx, cancel := context.WithTimeout(ctx, baseTimeout)
	defer cancel()
	if first, err = r.commit(ctx, from); err != nil {
		return "", "", fmt.Errorf("%q: %w", from, err)
	}
	if last, err = r.commit(ctx, to); err != nil {
		return "", "", fmt.Errorf("%q: %w", to, err)
	}
	if fromAncestor {
		first, err = r.ancestor(ctx, first, last)
	}
	return first, last, err
}

func (r Repository) commit(ctx context.Context, name string) (string, error) {
	out, err := readGit(ctx, r.environ, r.dir, "rev-parse", "--verify", "--end-of-options", name+"^{commit}")
	if err != nil {
		return "", err
	}
	commit := strings.TrimSpace(string(out.Stdout))
	if !out.OK() || !isCommit(commit) {
		return "", fmt.Errorf("git finds no such commit (%s); fetch it, or name another one", gitError(out.Stderr))
	}
	return commit, nil
}

// ancestor returns the newest common ancestor of a commit and the head of a branch.
func (r Repository) ancestor(ctx context.Context, commit, head string) (string, error) {
	out, err := readGit(ctx, r.environ, r.dir, "merge-base", commit, head)
	if err != nil {
		return "", err
	}
	ancestor := strings.TrimSpace(string(out.Stdout))
	if !out.OK() || !isCommit(ancestor) {
		return "", fmt.Errorf("it has no common ancestor with %s; in a shallow clone, fetch the whole history", head)
	}
	return ancestor, nil
}

func isCommit(id string) bool { return id != "" && strings.Trim(id, "0123456789abcdef") == "" }

// ChangedFiles returns the lines of git's list of files that differ between a commit and the working
// tree, with new files. Paths are relative to the top of the repository. Without a commit, it is
// HEAD; if nothing differs from HEAD, the list is of the last commit, and without any commit of all
// files. Files with a new time and the old content can be in it.
func (r Repository) ChangedFiles(ctx context.Context, commit string) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listTimeout, errors.New("git did not list the files within a minute"))
	defer cancel()
	if commit == "" && !r.has(ctx, "HEAD") {
		return r.files(ctx, "A\t", "ls-files", "--cached", "--others", "--exclude-standard", "--full-name", "--", ":/")
	}
	since := commit
	if commit == "" {
		since = "HEAD"
	}
	list, err := r.files(
		ctx, "", "diff-index", "--name-status", "--no-renames", "--ignore-submodules=dirty", since, "--",
	)
	if err != nil {
		return nil, err
	}
	others, err := r.files(ctx, "A\t", "ls-files", "--others", "--exclude-standard", "--full-name", "--", ":/")
	if list = append(list, others...); err != nil || len(list) > 0 || commit != "" {
		return list, err
	}
	if r.has(ctx, "HEAD^1") { // of a merge, git lists only conflicts
		return r.changedIn(ctx, "HEAD^1", "HEAD")
	}
	return r.changedIn(ctx, "--root", "--no-commit-id", "HEAD")
}

// changedIn returns the files that differ between trees. A repository can have git ignore its
// submodules, but a review must see that they change.
func (r Repository) changedIn(ctx context.Context, trees ...string) ([]string, error) {
	args := []string{"diff-tree", "-r", "--name-status", "--no-renames", "--ignore-submodules=none"}
	return r.files(ctx, "", append(append(args, trees...), "--")...)
}

// ChangedBetween returns git's list of files that differ between two commits.
func (r Repository) ChangedBetween(ctx context.Context, first, last string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	return r.changedIn(ctx, first, last)
}

// ChangedSince returns git's list of files that differ between a commit and HEAD, or between the
// commit and the working tree, with new files. A file can be in only one of both: the working tree
// can take back what the commits changed.
func (r Repository) ChangedSince(ctx context.Context, commit string) ([]string, error) {
	committed, err := r.ChangedBetween(ctx, commit, "HEAD")
	if err != nil {
		return nil, err
	}
	list, err := r.ChangedFiles(ctx, commit)
	if err != nil {
		return nil, err
	}
	names := make(map[string]bool, len(list))
	for _, line := range list {
		names[nameOf(line)] = true
	}
	for _, line := range committed {
		if !names[nameOf(line)] {
			list = append(list, line)
		}
	}
	return list, nil
}

// nameOf returns the name in a line of git's list.
func nameOf(line string) string {
	_, name, _ := strings.Cut(line, "\t")
	return name
}

// HasSubmodules reports whether the index has a submodule. settle's own git does not enter
// submodules, so that ChangedFiles does not see changes within them.
func (r Repository) HasSubmodules(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	list, err := r.files(ctx, "", "ls-files", "--stage", "--", ":/")
	return slices.ContainsFunc(list, func(line string) bool { return strings.HasPrefix(line, "160000 ") }), err
}

// HasCommit reports whether the repository has a commit at HEAD.
func (r Repository) HasCommit(ctx context.Context) bool { return r.has(ctx, "HEAD") }

// has reports whether the repository has a commit.
func (r Repository) has(ctx context.Context, name string) bool {
	_, err := r.commit(ctx, name)
	return err == nil
}

// files returns the lines of a git command. Names keep their letters; git quotes line breaks.
func (r Repository) files(ctx context.Context, prefix string, args ...string) (list []string, err error) {
	text, err := r.read(ctx, append([]string{"-c", "core.quotePath=false"}, args...)...)
	for line := range strings.Lines(text) {
		list = append(list, prefix+strings.TrimSuffix(line, "\n"))
	}
	return list, err
}
