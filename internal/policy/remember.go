package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Remember is told that a person approved the call for the session. From now
// on calls of the same kind are allowed, unless a rule denies them. Of the
// same kind are:
//
//   - the same call, to the letter;
//   - for shell: calls of which each command is the same in the same
//     directory, or does the same by its first words ("git commit", "npm run
//     build") with no options beyond those that were approved; see prefixes;
//   - reading, or writing, the same file;
//   - any call of the same tool, where that is none of settle's own.
func (p *Policy) Remember(r Request) {
	a := p.look(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.approved[a.exact] = true
	for _, d := range a.deeds {
		for _, one := range append([]deed{d}, d.touches...) {
			if key := a.kindKey(one); key != "" {
				p.approved[key] = true
			}
		}
		if prefix, options := a.prefix(d); prefix != "" {
			p.prefixes[prefix] = append(p.prefixes[prefix], options)
		}
	}
}

// remembers reports whether a deed is of a kind that was approved.
func (p *Policy) remembers(a act, d deed) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.approved) == 0 {
		return false
	}
	if p.approved[a.exact] {
		return true
	}
	if key := a.kindKey(d); key != "" && p.approved[key] {
		return true
	}
	prefix, options := a.prefix(d)
	return prefix != "" && slices.ContainsFunc(p.prefixes[prefix], func(approved []string) bool {
		return !slices.ContainsFunc(options, func(o string) bool { return !slices.Contains(approved, o) })
	})
}

// kindKey is what is noted when a deed is approved; empty if there is nothing
// narrow to note.
func (a act) kindKey(d deed) string {
	switch d.kind {
	case reads, looks, writes:
		return fmt.Sprintf("%s\x00%s", d.kind, d.place.real)
	case does:
		if a.Tool != "job" && a.Path == "" {
			return "does\x00" + a.Tool
		}
	case runs:
		if d.at != "" && !slices.ContainsFunc(d.words, func(w word) bool { return !w.known }) {
			return strings.Join(slices.Concat([]string{"runs", d.at}, d.sets, texts(d.words)), "\x00")
		}
	}
	return ""
}

// prefix returns the first words of a command, if by them it is of one kind
// whatever it works on, with its directory, and its options.
func (a act) prefix(d deed) (prefix string, options []string) {
	if d.kind != runs || d.at == "" || len(d.sets) > 0 || slices.ContainsFunc(d.words, func(w word) bool { return !w.definite() }) {
		return "", nil
	}
	list := texts(d.words)
	n := 0
	for _, known := range prefixes() {
		if want := strings.Fields(known); len(want) <= len(list) && slices.Equal(want, list[:len(want)]) {
			n = len(want)
			if list[n-1] == "run" {
				n++
			}
		}
	}
	if n == 0 || n > len(list) || slices.ContainsFunc(a.places(d), func(p place) bool { return !p.inside }) {
		return "", nil
	}
	for _, text := range list[n:] {
		if strings.HasPrefix(text, "-") {
			name, _, _ := strings.Cut(text, "=")
			options = append(options, name)
		}
	}
	return strings.Join(slices.Concat([]string{d.at}, list[:n]), "\x00"), options
}

// prefixes are commands that one approves as such: what they work on is the
// project. After "run" comes the name of a script, which counts too.
func prefixes() []string {
	return []string{
		"git add", "git commit", "go test", "go build", "go vet", "cargo test", "cargo build", "cargo check", "cargo clippy", "cargo fmt",
		"npm test", "npm run", "pnpm test", "pnpm run", "yarn test", "yarn run", "bun test", "bun run", "pytest", "python -m pytest",
		"python3 -m pytest", "tsc", "npx tsc", "eslint", "npx eslint", "ruff check", "mypy", "jest", "npx jest", "vitest", "npx vitest",
	}
}
