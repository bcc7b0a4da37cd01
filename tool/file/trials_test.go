package file_test

import (
	"fmt"
	"slices"
	"strings"
)

// edit is a change with its context lines, in the form of a model.
type edit struct {
	file        []string // the whole piece
	from, to    int      // of the given lines
	old, new    []string
	at, removed int // of the change, in old
}

// give returns the change with context lines around it.
func give(p piece, e change, around int) edit {
	from, to := max(e.At-around, 0), min(e.At+e.Old+around, len(p.Lines))
	return edit{
		file: p.Lines, from: from, to: to, at: e.At - from, removed: e.Old,
		old: slices.Clone(p.Lines[from:to]), new: slices.Concat(p.Lines[from:e.At], e.New, p.Lines[e.At+e.Old:to]),
	}
}

func text(lines []string) string { return strings.Join(lines, "\n") + "\n" }

// after returns the file with the new lines.
func (e edit) after() []string { return slices.Concat(e.file[:e.from], e.new, e.file[e.to:]) }

// added returns the new lines without context.
func (e edit) added() []string { return e.new[e.at : len(e.new)-(len(e.old)-e.at-e.removed)] }

// change changes an edit to a near miss; ok is false if it changes nothing.
type miss struct {
	kind string
	make func(e edit, x *trial, given *edit) (ok bool)
}

// misses are the near misses of models. Without a given result, the edit has its original
// meaning.
func misses() []miss {
	return []miss{
		{"tabs for spaces, or spaces for tabs", func(_ edit, _ *trial, given *edit) bool {
			return each(given, reindent)
		}},
		{"white space at the ends of lines", func(_ edit, _ *trial, given *edit) bool {
			return eachOld(given, func(s string) string { return s + "  " })
		}},
		{"typographic quotes", func(_ edit, _ *trial, given *edit) bool {
			return each(given, func(s string) string {
				return strings.ReplaceAll(strings.ReplaceAll(s, `"`, "\u201C"),
					"'", "\u2019")
			})
		}},
		{"plain signs where the file has typographic ones", func(e edit, x *trial, _ *edit) bool {
			return typographic(e, x)
		}},
		{"spaces that do not break", func(_ edit, _ *trial, given *edit) bool {
			return eachOld(given, func(s string) string { return strings.ReplaceAll(s, " ", "\u00A0") })
		}},
		{"a line that has changed since", func(_ edit, x *trial, given *edit) bool {
			x.after = ""
			n := longest(given.old)
			given.old[n] += " /* as it was */"
			return true
		}},
		{"lines that are there twice", func(e edit, x *trial, _ *edit) bool {
			x.after, x.before = "", text(slices.Concat(e.file, e.file))
			return true
		}},
		{"a file with CRLF", func(_ edit, x *trial, _ *edit) bool {
			x.before, x.after = crlf(x.before), crlf(x.after)
			return true
		}},
		{"an edit with CRLF", func(_ edit, _ *trial, given *edit) bool {
			return each(given, func(s string) string { return s + "\r" })
		}},
		{"a file without a newline at its end", func(_ edit, x *trial, _ *edit) bool {
			x.before, x.after = strings.TrimSuffix(x.before, "\n"), strings.TrimSuffix(x.after, "\n")
			return !strings.HasSuffix(x.before, "\n") && !strings.HasSuffix(x.after, "\n") && x.after != ""
		}},
		{"line numbers of `read`", func(e edit, x *trial, given *edit) bool {
			x.after = ""
			for n := range given.old {
				given.old[n] = fmt.Sprintf("%6d\t%s", e.from+n+1, given.old[n])
			}
			return true
		}},
		{"letters that are composed of two", func(_ edit, _ *trial, given *edit) bool {
			return eachOld(given, func(s string) string { return strings.ReplaceAll(s, "e", "e\u0301") })
		}},
	}
}

// trials returns the calls for an edit: unchanged, and with some near misses.
func trials(p piece, e change, n int) []trial {
	out := []trial{}
	kinds := misses()
	for _, way := range []string{"edit", "apply_patch"} {
		around := map[string]int{"edit": 2, "apply_patch": 3}[way]
		whole := give(p, e, around)
		begin := func(kind string) trial {
			return trial{
				tool: way, kind: kind, before: text(whole.file), after: text(whole.after()),
				lines: [2]int{whole.from + 1, whole.to},
			}
		}
		x := begin("as they were made")
		x.args = arguments(way, whole)
		out = append(out, x)
		for k := range 3 {
			m := kinds[(n+k*len(kinds)/3)%len(kinds)]
			x, given := begin(m.kind), whole
			given.old, given.new = slices.Clone(whole.old), slices.Clone(whole.new)
			if m.make(whole, &x, &given) {
				x.args = arguments(way, given)
				out = append(out, x)
			}
		}
	}
	return append(out, writes(p, e, n)...)
}

// writes returns the calls that write a whole file.
func writes(p piece, e change, n int) []trial {
	whole := give(p, e, 0)
	x := trial{
		tool: "write", kind: "as they were made", before: text(whole.file), after: text(whole.after()),
		read: true,
	}
	x.args = map[string]any{"path": "f", "content": x.after}
	second := x
	switch n % 3 {
	case 0:
		second.kind, second.read, second.after = "a file that was not read", false, ""
	case 1:
		second.kind, second.since, second.after = "a line that has changed since", x.before+"more\n", ""
	case 2:
		second.kind, second.before, second.after = "a file with CRLF", crlf(x.before), crlf(x.after)
	}
	return []trial{x, second}
}

func arguments(way string, e edit) map[string]any {
	if way == "edit" {
		return map[string]any{"path": "f", "old_string": joined(e.old), "new_string": joined(e.new)}
	}
	var b strings.Builder
	b.WriteString("*** Begin Patch\n*** Update File: f\n@@\n")
	put := func(mark string, lines []string) {
		for _, l := range lines {
			b.WriteString(mark + l + "\n")
		}
	}
	put(" ", e.old[:e.at])
	put("-", e.old[e.at:e.at+e.removed])
	put("+", e.added())
	put(" ", e.old[e.at+e.removed:])
	b.WriteString("*** End Patch\n")
	return map[string]any{"input": b.String()}
}

// joined joins lines to a text that ends within the last line.
func joined(lines []string) string { return strings.TrimSuffix(strings.Join(lines, "\n"), "\r") }

// each changes all given lines.
func each(e *edit, f func(string) string) bool {
	changed := eachOld(e, f)
	for n, s := range e.new {
		e.new[n] = f(s)
	}
	return changed
}

// eachOld changes the lines that the file must contain.
func eachOld(e *edit, f func(string) string) (changed bool) {
	for n, s := range e.old {
		e.old[n] = f(s)
		changed = changed || e.old[n] != s
	}
	return changed
}

func reindent(s string) string {
	rest := strings.TrimLeft(s, " \t")
	indent := s[:len(s)-len(rest)]
	if strings.Contains(indent, "\t") {
		return strings.ReplaceAll(indent, "\t", "    ") + rest
	}
	return strings.ReplaceAll(indent, "    ", "\t") + rest
}

// typographic replaces plain signs in the file by typographic ones, which a model writes as
// plain ones.
func typographic(e edit, x *trial) bool {
	r := strings.NewReplacer(`"`, "\u201D", "'", "\u2019", " - ", " \u2013 ")
	lines := slices.Clone(e.file)
	for n := e.from; n < e.to; n++ {
		lines[n] = r.Replace(lines[n])
	}
	x.before = text(lines)
	x.after = text(slices.Concat(lines[:e.from+e.at], e.added(), lines[e.from+e.at+e.removed:]))
	return x.before != text(e.file)
}

func longest(lines []string) (at int) {
	for n, s := range lines {
		if len(s) > len(lines[at]) {
			at = n
		}
	}
	return at
}

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
