package search

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// ripgrep lets rg search the directory root.
func (q *query) ripgrep(ctx context.Context, cfg Config) error {
	argv := append([]string{cfg.Ripgrep}, q.ripgrepArgs()...)
	code, err := cfg.Runner.Run(ctx, argv, q.root, func(stdout io.Reader) error { return q.readRipgrep(stdout) })
	switch {
	case err != nil:
		return err
	case code > 1 && q.c.matches == 0: // 2 with matches: it could not read some file.
		return fmt.Errorf("ripgrep ended with code %d", code)
	}
	return nil
}

// ripgrepArgs makes rg find what scan finds: hidden files too, by the rules of
// .gitignore and .git/info/exclude alone, in the order of names. A glob goes
// in as a file type, since --glob would bring ignored files back in; one with
// a slash is left to readRipgrep, since types look at the name only.
func (q *query) ripgrepArgs() []string {
	args := []string{
		"--no-config", "--no-messages", "--color=never", "--no-heading", "--with-filename", "--line-number", "--null",
		"--no-context-separator", "--sort=path", "--hidden", "--glob=!.git", "--no-ignore-global", "--no-ignore-dot",
		"--no-require-git", "--encoding=none", "--crlf", "--context=" + strconv.Itoa(q.context),
	}
	if _, found := repositoryTop(q.root); !found {
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

// readRipgrep reads "./PATH\0NUMBER:line" (or "-line" for context).
func (q *query) readRipgrep(stdout io.Reader) error {
	r := bufio.NewReaderSize(stdout, blockBytes)
	var held []found // context, until it is clear that its match is told
	for {
		path, err := r.ReadSlice(0)
		if err != nil {
			return endOfOutput(err)
		}
		rel := filepath.ToSlash(string(bytes.TrimPrefix(path[:len(path)-1], []byte("."+string(filepath.Separator)))))
		text, err := readBounded(r)
		if err != nil {
			return endOfOutput(err)
		}
		f, ok := parseRipgrep(text)
		if !ok || q.filter != nil && !q.filter.matches(rel) {
			continue // A remark on a binary file, or another file.
		}
		f.path = filepath.Join(q.root, filepath.FromSlash(rel))
		if held, err = q.tell(held, f); err != nil {
			return err
		}
	}
}

// tell gives the collector a line. Context that comes before a match waits for
// it: if the limit cuts the match off, its context is not told either.
func (q *query) tell(held []found, f found) ([]found, error) {
	if !f.match && (len(held) > 0 || q.beforeMatch(f)) {
		f.text = bytes.Clone(f.text[:min(len(f.text), maxShownLine+1)])
		return append(held, f), nil
	}
	if f.match {
		return held[:0], q.c.addMatch(held, f)
	}
	return held, q.c.add(f)
}

// beforeMatch reports whether a line of context belongs to a match to come,
// not to the one before.
func (q *query) beforeMatch(f found) bool {
	return f.path != q.c.path || f.number > q.c.lastMatch+q.context
}

func endOfOutput(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// readBounded reads a line, and keeps at most maxScanLine of it.
func readBounded(r *bufio.Reader) ([]byte, error) {
	text, err := r.ReadSlice('\n')
	if err == nil {
		return trimEnding(text), nil
	}
	line := bytes.Clone(text)
	for errors.Is(err, bufio.ErrBufferFull) {
		text, err = r.ReadSlice('\n')
		line = append(line, text[:min(len(text), max(0, maxScanLine-len(line)))]...)
	}
	if err != nil && len(line) == 0 {
		return nil, err
	}
	return trimEnding(line), nil
}

func parseRipgrep(text []byte) (f found, ok bool) {
	digits := 0
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	if digits == 0 || digits == len(text) || text[digits] != ':' && text[digits] != '-' {
		return f, false
	}
	number, err := strconv.Atoi(string(text[:digits]))
	return found{number: number, text: text[digits+1:], match: text[digits] == ':'}, err == nil
}
