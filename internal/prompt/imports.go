package prompt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/disk"
)

const (
	// maxHops bounds the chain of imports from a file
	// (https://code.claude.com/docs/en/memory, "Import additional files").
	maxHops = 5
	// maxImports bounds the imported files, and the imports of one file.
	maxImports = 100
)

// imported reads the files that a file names by @path, directly or through other files, in the
// order of their names. It omits, with a note, files with secrets and, for a file of the project,
// files outside the project. A name without a file is ordinary text, such as @alice.
func (p *Prompt) imported(from Sources, of whose, by instruction, hops int) (out []instruction) {
	if hops == 0 {
		return nil
	}
	for _, name := range imports(by.text) {
		path := from.locate(name, filepath.Dir(by.path))
		if path == "" {
			continue
		}
		if p.imports++; p.imports > maxImports {
			if p.imports == maxImports+1 {
				p.Notes = append(
					p.Notes,
					fmt.Sprintf("%s and later imports are skipped: at most %d files are imported", path, maxImports),
				)
			}
			return out
		}
		one, its, err := p.importOf(from, of, path)
		if errors.Is(err, errSeen) || err == nil && strings.TrimSpace(one.text) == "" {
			continue
		}
		if err != nil {
			p.Notes = append(p.Notes, fmt.Sprintf("%s imports %s, which was left out: %v", by.path, path, err))
			continue
		}
		one.by = by.path
		out = append(append(out, one), p.imported(from, its, one, hops-1)...)
	}
	return out
}

// importOf reads one imported file and returns its owner: a file in the project belongs to
// the project, and its imports also do.
func (p *Prompt) importOf(from Sources, of whose, path string) (instruction, whose, error) {
	f, err := from.find(path)
	switch {
	case err != nil:
		return instruction{}, of, err
	case of == ofProject && !f.inside:
		return instruction{}, of, errors.New(
			"it is outside of the project; to have it read, import it in your own instructions",
		)
	case of == ofUser && from.Secret != nil && (from.Secret(f.Named) || from.Secret(f.Real)):
		return instruction{}, of, errSecret
	case slices.ContainsFunc(strings.Split(filepath.ToSlash(f.Real), "/"), isGit):
		return instruction{}, of, errors.New("it is in .git")
	}
	one, err := p.readFound(from, of, f)
	if f.inside {
		of = ofProject
	}
	return one, of, err
}

// isGit reports whether a name is the name of git's directory, also on a file system that
// ignores case.
func isGit(name string) bool { return strings.EqualFold(name, ".git") }

// locate returns the file that an import in a directory names; "" if there is none.
// Punctuation after a name is part of the name only if such a file exists.
func (s Sources) locate(name, dir string) string {
	name = strings.ReplaceAll(name, `\ `, " ")
	name, _, _ = strings.Cut(name, "#")
	for _, name := range []string{name, strings.TrimRight(name, ".,;:!?)]}'\"*_")} {
		path := disk.AbsoluteIn(dir, disk.ExpandHome(filepath.FromSlash(name), s.Home))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// importName is a path after an @ that begins a word. A backslash precedes each blank in
// the path.
var importName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|\s)@((?:\./|\.\./|~/|/)?[\pL\pN._-](?:[^\s\\]|\\ )*)`)
})

// comment is an HTML comment, also over several lines.
var comment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)<!--.*?-->`) })

// imports returns the imports of a Markdown text outside code and comments.
func imports(text string) (names []string) {
	if !strings.Contains(text, "@") {
		return nil
	}
	text = comment().ReplaceAllString(withoutCode(text), " ")
	for _, m := range importName().FindAllStringSubmatch(text, maxImports) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// withoutCode returns a Markdown text without code: fenced blocks, indented blocks and
// spans (https://spec.commonmark.org/0.31.2/).
func withoutCode(text string) string {
	var b, paragraph strings.Builder
	flush := func() {
		b.WriteString(withoutSpans(paragraph.String()) + "\n")
		paragraph.Reset()
	}
	fence, blank, list := "", true, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		bare := strings.TrimLeft(line, " \t")
		indented := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
		switch {
		case fence != "":
			if end := strings.TrimRight(bare, " \t"); strings.HasPrefix(end, fence) &&
				strings.Trim(end, fence[:1]) == "" {
				fence = ""
			}
			blank = false
			continue
		case bare == "":
			flush()
			blank = true
			continue
		}
		if fence = opens(bare); fence != "" && (!indented || list) {
			flush()
			continue
		}
		if fence = ""; indented && blank && !list {
			continue // the next line of the block can also follow a blank line
		}
		if blank = false; !indented {
			list = item(bare) || list && line[0] == ' '
		}
		paragraph.WriteString(line + "\n")
	}
	flush()
	return b.String()
}

// item reports whether a line begins an item of a list.
func item(line string) bool {
	rest := strings.TrimLeft(line, "0123456789")
	if rest != line {
		return strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") ")
	}
	return len(line) > 1 && strings.ContainsAny(line[:1], "-*+") && strings.ContainsAny(line[1:2], " \t")
}

// opens returns the fence with which a line begins a code block; "" for none.
func opens(line string) string {
	for _, mark := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, mark))
		if n >= 3 && (mark == "~" || !strings.Contains(line[n:], "`")) {
			return line[:n]
		}
	}
	return ""
}

// withoutSpans returns a paragraph without code spans, which equally long runs of
// backquotes enclose.
func withoutSpans(text string) string {
	var b strings.Builder
	for {
		begin := strings.IndexByte(text, '`')
		if begin < 0 {
			return b.String() + text
		}
		b.WriteString(text[:begin])
		text = text[begin:]
		n := len(text) - len(strings.TrimLeft(text, "`"))
		end := closing(text[n:], n)
		if end < 0 { // these backquotes open no span
			b.WriteString(text[:n])
			text = text[n:]
			continue
		}
		b.WriteString("`")
		text = text[n+end:]
	}
}

// closing returns the end of a span that n backquotes opened; -1 if it has none.
func closing(text string, n int) int {
	for at := 0; at < len(text); {
		begin := strings.IndexByte(text[at:], '`')
		if begin < 0 {
			return -1
		}
		at += begin
		run := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if at += run; run == n {
			return at
		}
	}
	return -1
}
