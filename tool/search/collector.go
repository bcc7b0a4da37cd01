package search

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/settle-agent/settle/internal/disk"
)

const (
	defaultMatches = 100
	maxMatches     = 1000
	maxOutput      = 48 << 10
	maxShownLine   = 400
)

// errEnough ends a search that has reached its limit.
var errEnough = errors.New("found enough")

// collector receives lines in the order of files and formats them for the model.
type collector struct {
	re      *regexp.Regexp
	dir     string
	limit   int // of matches, or of files if only files are listed
	context int
	show    Show
	// private, if set, reports which files can contain secrets: the result names such
	// files, and shows no lines of them.
	private func(path string) bool
	kept    []string // such files, in the model's form

	out     strings.Builder
	path    string // of the last line
	number  int    // of the last line
	inFile  int    // unreported matches of the last file
	matches int
	files   int
	more    bool // there was more than the limit
}

// found is a line of a file: a match, or its context.
type found struct {
	path   string
	number int // from 1
	text   []byte
	match  bool
}

// addMatch adds a match and the context before it: all of it, or errEnough.
func (c *collector) addMatch(before []found, match found) error {
	if c.show != "" && c.show != ShowLines {
		return c.addFile(match)
	}
	if c.matches >= c.limit {
		c.more = true
		return errEnough
	}
	for _, f := range before {
		if err := c.add(f); err != nil {
			return err
		}
	}
	return c.add(match)
}

// addFile adds a match, of which the result has only the file and its count.
func (c *collector) addFile(match found) error {
	if match.path != c.path {
		c.endFile()
		if c.files >= c.limit || c.out.Len() >= maxOutput {
			c.more = true
			return errEnough
		}
		c.path, c.inFile = match.path, 0
		c.files++
		c.out.WriteString(disk.Display(c.dir, match.path))
		if c.show == ShowFiles {
			c.out.WriteByte('\n')
		}
	}
	c.inFile++
	c.matches++
	return nil
}

// endFile ends the line of the last file, if it has a count.
func (c *collector) endFile() {
	if c.show == ShowCount && c.inFile > 0 {
		fmt.Fprintf(&c.out, ":%d\n", c.inFile)
		c.inFile = 0
	}
}

// skips reports whether a file of a directory is not searched, and records its name: with or
// without a match, because a match would show the content of the file. Such a file has the name of
// a secret, or several names that no single decision covered.
func (c *collector) skips(path string, shared bool) bool {
	if !shared && (c.private == nil || !c.private(path)) {
		return false
	}
	if shown := disk.Display(c.dir, path); !slices.Contains(c.kept, shown) {
		c.kept = append(c.kept, shown)
	}
	return true
}

// maxKept bounds the named private files.
const maxKept = 20

// secrets reports the private files.
func (c *collector) secrets() string {
	if len(c.kept) == 0 {
		return ""
	}
	names := c.kept[:min(len(c.kept), maxKept)]
	text := fmt.Sprintf("(not searched, because secrets are kept there: %s: %s",
		count(len(c.kept), "file", "files"), strings.Join(names, ", "))
	if len(names) < len(c.kept) {
		text += ", …"
	}
	return text + "; search or read one by its name if you have to)\n"
}

// add adds a line, or returns errEnough.
func (c *collector) add(f found) error {
	if c.out.Len() >= maxOutput {
		c.more = true
		return errEnough
	}
	switch {
	case f.path != c.path:
		if c.path != "" {
			c.out.WriteByte('\n')
		}
		c.path = f.path
		c.files++
		fmt.Fprintln(&c.out, disk.Display(c.dir, f.path))
	case f.number > c.number+1 && c.context > 0:
		c.out.WriteString("--\n")
	}
	c.number = f.number
	mark := byte('-')
	if f.match {
		mark = ':'
		c.matches++
	}
	fmt.Fprintf(&c.out, "%d%c%s\n", f.number, mark, c.shorten(f.text))
	return nil
}

// shorten cuts a long line to a window around its match.
func (c *collector) shorten(text []byte) string {
	text = bytes.TrimSuffix(text, []byte("\r"))
	from, to := 0, len(text)
	if to > maxShownLine {
		if at := c.re.FindIndex(text); at != nil {
			from = max(0, min(at[0]-maxShownLine/4, to-maxShownLine))
		}
		to = from + maxShownLine
		for from > 0 && !utf8.RuneStart(text[from]) {
			from--
		}
		for to < len(text) && !utf8.RuneStart(text[to]) {
			to--
		}
	}
	s := strings.ToValidUTF8(string(text[from:to]), "\uFFFD")
	if from > 0 {
		s = "… " + s
	}
	if to < len(text) {
		s += " …"
	}
	return s
}

func (c *collector) render() string {
	if c.matches == 0 && len(c.kept) == 0 {
		return "no matches"
	}
	c.endFile()
	if c.more {
		return fmt.Sprintf(
			"%s\n(the first %d matches; there are more: narrow the pattern, path or glob, or raise limit)\n%s",
			c.out.String(), c.matches, c.secrets(),
		)
	}
	return fmt.Sprintf("%s\n(%s in %s)\n%s", c.out.String(), count(c.matches, "match", "matches"),
		count(c.files, "file", "files"), c.secrets())
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
