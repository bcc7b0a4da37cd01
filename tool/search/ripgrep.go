package search

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
)

// ripgrep lets rg name the files below the directory that can have a match, and searches
// these. The output of rg itself is not shown, because rg opens files by their names, which
// a command can change.
func (q *query) ripgrep(ctx context.Context, cfg Config) error {
	d, err := q.at.Tree()
	if err != nil {
		return err
	}
	defer d.Close()
	s := newScanner(q)
	argv := append([]string{cfg.Ripgrep}, q.ripgrepArgs()...)
	code, err := cfg.Runner.Run(ctx, argv, q.at.Real, func(stdout io.Reader) error { return s.named(ctx, d, stdout) })
	switch {
	case err != nil:
		return err
	case code > 1 && q.c.matches == 0: // code 2 with matches: rg could not read some file
		return fmt.Errorf("ripgrep ended with code %d", code)
	}
	return nil
}

// ripgrepArgs makes rg find the files that scan finds: also hidden files, by the rules of
// .gitignore and .git/info/exclude alone, in the order of names. It passes a glob as a file
// type, because --glob would include ignored files; named checks a glob with a slash,
// because types match only names.
func (q *query) ripgrepArgs() []string {
	args := []string{
		"--no-config", "--no-messages", "--color=never", "--files-with-matches", "--null", "--sort=path", "--hidden",
		"--glob=!.git",
		"--no-ignore-global", "--no-ignore-dot", "--no-require-git", "--encoding=none", "--crlf",
	}
	if _, found := repositoryTop(q.at.Real); !found {
		args = append(args, "--no-ignore-parent")
	}
	if q.fold {
		args = append(args, "--ignore-case")
	}
	if q.glob != "" && !strings.Contains(q.glob, "/") {
		args = append(args, "--type-add=settle:"+q.glob, "--type=settle")
	}
	return append(args, "--regexp="+q.pattern, "--", ".")
}

// maxNamed bounds the path of a file in rg's output.
const maxNamed = 1 << 20

// named searches the files in rg's output, each followed by a NUL.
func (s *scanner) named(ctx context.Context, root *disk.Dir, stdout io.Reader) error {
	paths := bufio.NewScanner(stdout)
	paths.Buffer(nil, maxNamed)
	paths.Split(untilNUL)
	var in *disk.Dir // of the last file
	at := ""
	defer func() {
		if in != nil {
			in.Close()
		}
	}()
	for paths.Scan() {
		rel := strings.TrimPrefix(filepath.ToSlash(paths.Text()), "./")
		if s.filter != nil && !s.filter.matches(rel) {
			continue
		}
		dir, name := splitRel(rel)
		if in == nil || dir != at {
			below, err := root.Below(dir)
			if err != nil {
				continue // removed, or replaced by a link
			}
			if in != nil {
				in.Close()
			}
			in, at = below, dir
		}
		if err := s.file(ctx, in, name, filepath.Join(s.at.Named, filepath.FromSlash(rel))); err != nil {
			return err
		}
	}
	return paths.Err()
}

// splitRel returns the directory of a path with slashes, "." for none, and the name.
func splitRel(rel string) (dir, name string) {
	if n := strings.LastIndexByte(rel, '/'); n >= 0 {
		return rel[:n], rel[n+1:]
	}
	return ".", rel
}

// untilNUL is a [bufio.SplitFunc] for texts that each end in a NUL. It ignores a last text
// without one.
func untilNUL(data []byte, _ bool) (advance int, token []byte, err error) {
	if n := bytes.IndexByte(data, 0); n >= 0 {
		return n + 1, data[:n], nil
	}
	return 0, nil, nil
}
