package search

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/tool"
)

var grepSchema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{
	"type": "object",
	"properties": {
		"pattern": {"type": "string", "minLength": 1, "description": "Regular expression (RE2), matched within single lines."},
		"path": {"type": "string", "description": "Default: the working directory."},
		"glob": {"type": "string", "minLength": 1, "description": "Only files that match, such as *.go or src/**/*.{ts,tsx}."},
		"ignore_case": {"type": "boolean"},
		"show": {"type": "string", "enum": ["lines", "files", "count"], "description": "What of each file: its matching lines (default), its name, or their count."},
		"context": {"type": "integer", "minimum": 0, "maximum": 20,
			"description": "Lines before and after each match."},
		"limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "Default 100."}
	},
	"required": ["pattern"],
	"additionalProperties": false
}`)
})

// grepTool returns the tool grep.
func (c Config) grepTool() tool.Tool {
	return tool.Must(tool.New("grep",
		"Finds lines by regular expression, file by file: matches as NUMBER:line, context as NUMBER-line. "+
			"Skips binary files and files that .gitignore excludes. Long lines are cut around the match.",
		c.grep, grepSchema(), tool.ReadOnly(), tool.WithTitle(GrepArguments.title)))
}

// GrepArguments are the arguments of grep.
type GrepArguments struct {
	Pattern    string  `json:"pattern"`
	Path       string  `json:"path,omitempty"`
	Glob       string  `json:"glob,omitempty"`
	IgnoreCase bool    `json:"ignore_case,omitempty"`
	Show       Show    `json:"show,omitempty"`
	Context    float64 `json:"context,omitempty"`
	Limit      float64 `json:"limit,omitempty"`
}

// Show is grep's output for each file.
type Show string

// The kinds of output; empty is ShowLines.
const (
	ShowLines Show = "lines" // the matching lines
	ShowFiles Show = "files" // the file's name
	ShowCount Show = "count" // the number of matches
)

func (in GrepArguments) title() string {
	title := fmt.Sprintf("grep %q", in.Pattern)
	if in.Path != "" {
		title += " in " + in.Path
	}
	if in.Glob != "" {
		title += " (" + in.Glob + ")"
	}
	return title
}

func (c Config) grep(ctx context.Context, in GrepArguments) (tool.Result, error) {
	call, _ := tool.CallFrom(ctx)
	q, isDir, err := c.newQuery(call, in)
	if err != nil {
		return tool.Result{}, err
	}
	q.c.dir = call.Dir
	if isDir { // a named file was judged by its name
		q.c.private = c.privateBelow(q.at)
	}
	bounded, cancel := c.bound(ctx)
	defer cancel()
	if isDir {
		err = q.scan(bounded)
	} else {
		err = q.scanNamed(bounded)
	}
	if ctx.Err() != nil { // the results so far are valid and useful
		return tool.Result{Output: q.c.render(), Aborted: true}, nil
	}
	output, stopped := slow(bounded, q.c.render())
	if !stopped && err != nil && !errors.Is(err, errEnough) {
		return tool.Result{}, fmt.Errorf("cannot search %q: %w", q.at.Shown, err)
	}
	return tool.Result{Output: output}, nil
}

// privateBelow reports which files below a place can contain secrets, by their shown and
// their real paths.
func (c Config) privateBelow(at disk.Place) func(path string) bool {
	if c.Private == nil {
		return nil
	}
	return func(path string) bool {
		rel, err := filepath.Rel(at.Named, path)
		return c.Private(path) || err == nil && c.Private(filepath.Join(at.Real, rel))
	}
}

// query is a search: the pattern, and the files to search.
type query struct {
	re *regexp.Regexp
	// lines is re for many lines at once; it can match too much, never too little. Nil if
	// that is impossible.
	lines   *regexp.Regexp
	at      disk.Place // a file, or the searched directory
	filter  *glob      // of paths from there; nil for all
	context int
	c       *collector
}

func (c Config) newQuery(call tool.Call, in GrepArguments) (q *query, isDir bool, err error) {
	q = &query{context: int(in.Context)}
	if q.re, q.lines, err = compile(in.Pattern, in.IgnoreCase); err != nil {
		return nil, false, err
	}
	if in.Glob != "" {
		if q.filter, err = newGlob(strings.TrimPrefix(in.Glob, "./")); err != nil {
			return nil, false, err
		}
		q.filter = &glob{rest: strings.TrimPrefix(in.Glob, "./")}
	}
	at, info, err := c.locate(call, in.Path)
	if err != nil {
		return nil, false, err
	}
	q.at = at
	if in.Show == ShowFiles || in.Show == ShowCount {
		q.context = 0
	}
	q.c = &collector{re: q.re, show: in.Show, limit: orDefault(in.Limit, defaultMatches), context: q.context}
	return q, info.IsDir(), nil
}

// compile compiles a pattern for single lines, and for many lines.
func compile(pattern string, fold bool) (re, lines *regexp.Regexp, err error) {
	flags := ""
	if fold {
		flags = "(?i)"
	}
	if re, err = regexp.Compile(flags + pattern); err != nil {
		var syntaxErr *syntax.Error
		if errors.As(err, &syntaxErr) {
			return nil, nil, fmt.Errorf(
				"%q is not a valid regular expression: %s %q; to search for the text as it is, escape it with backslashes",
				pattern,
				syntaxErr.Code,
				syntaxErr.Expr,
			)
		}
		return nil, nil, err
	}
	tree, err := syntax.Parse("(?m)"+flags+pattern, syntax.Perl)
	if err != nil {
		return nil, nil, err
	}
	if has(tree, func(t *syntax.Regexp) bool { return t.Op == syntax.OpLiteral && slices.Contains(t.Rune, '\n') }) {
		return nil, nil, fmt.Errorf(
			"%q contains a line break: only single lines are searched; look for one of the lines, with context",
			pattern,
		)
	}
	if has(tree, func(t *syntax.Regexp) bool { return t.Op == syntax.OpBeginText || t.Op == syntax.OpEndText }) {
		return re, nil, nil
	}
	lines, err = regexp.Compile("(?m)" + flags + pattern)
	return re, lines, err
}

func has(t *syntax.Regexp, is func(*syntax.Regexp) bool) bool {
	return is(t) || slices.ContainsFunc(t.Sub, func(sub *syntax.Regexp) bool { return has(sub, is) })
}
