package prompt

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/skills"
)

// Bounds of the rules of one directory; a folder can contain anything.
const (
	maxRules     = 100
	maxRuleDepth = 4
	maxRuleFiles = 2000 // entries that are looked at
)

// Bounds of the paths of one rule: a pattern with braces is matched once for each alternative,
// and a pattern with many stars takes long.
const (
	maxRulePaths    = 64
	maxPathBytes    = 512
	maxAlternatives = 64
)

// rulesFolder has the rules of a directory, in the format of Claude Code
// (https://code.claude.com/docs/en/memory, "Organize rules").
const rulesFolder = ".claude/rules"

// rules returns the rules of a directory that apply to one of the places, and its rules
// without paths if always is set.
func (p *Prompt) rules(from Sources, dir string, places []string, always bool) (out []instruction) {
	for _, path := range ruleFiles(from, dir) {
		one, err := p.read(from, ofProject, path)
		if errors.Is(err, errSeen) {
			continue
		}
		var paths []string
		if err == nil {
			one, paths, err = ruleOf(one)
		}
		if err != nil {
			p.Notes = append(p.Notes, fmt.Sprintf("%s was left out: %v", path, err))
			continue
		}
		if len(paths) == 0 && always || applies(dir, paths, places) {
			out = append(out, one)
		}
	}
	return out
}

// ruleFiles returns the files of a directory's rules, in order. It enters no links.
func ruleFiles(from Sources, dir string) (out []string) {
	looked := 0
	var walk func(folder string, depth int)
	walk = func(folder string, depth int) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return
		}
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			if looked++; looked > maxRuleFiles || len(out) == maxRules {
				return
			}
			switch {
			case e.IsDir() && depth < maxRuleDepth:
				walk(path, depth+1)
			case !e.IsDir() && filepath.Ext(e.Name()) == ".md":
				out = append(out, path)
			}
		}
	}
	top := filepath.Join(dir, filepath.FromSlash(rulesFolder))
	if f, err := from.find(top); err != nil || !f.inside {
		return nil
	}
	walk(top, 1)
	return out
}

// ruleOf splits a rule into its text and its paths.
func ruleOf(one instruction) (instruction, []string, error) {
	head, body, ok := skills.Split(one.text)
	if !ok {
		return one, nil, nil
	}
	h, err := skills.Parse(head)
	if err != nil {
		return one, nil, err
	}
	one.size -= int64(len(one.text) - len(body))
	one.text = body
	if _, there := h["paths"]; !there {
		return one, nil, nil
	}
	var paths []string
	list := h.List("paths")
	if len(list) > maxRulePaths {
		return one, nil, fmt.Errorf("it has %d paths; the limit is %d", len(list), maxRulePaths)
	}
	for _, pattern := range list {
		if n := alternatives(pattern); len(pattern) > maxPathBytes || n > maxAlternatives {
			return one, nil, fmt.Errorf("its path %q is too long, or has too many alternatives in braces: "+
				"the limits are %d bytes and %d alternatives", bound.Clip(pattern, 80), maxPathBytes, maxAlternatives)
		}
		pattern = strings.TrimPrefix(strings.Trim(pattern, `"'`), "./")
		if !doublestar.ValidatePattern(pattern) {
			return one, nil, fmt.Errorf("its path %q is no pattern", pattern)
		}
		paths = append(paths, cmp.Or(pattern, "**"))
	}
	if paths == nil {
		return one, nil, errors.New("its paths name nothing")
	}
	return one, paths, nil
}

// alternatives returns at least the number of patterns to which the braces of a pattern
// expand, including nested braces. Matching tries each pattern.
func alternatives(pattern string) int {
	var open []int // the alternatives of the braces around, outermost first
	product, escaped := 1, false
	for _, r := range pattern {
		last := len(open) - 1
		switch {
		case escaped, r == '\\':
			escaped = !escaped
		case r == '{':
			open = append(open, 1)
		case r == ',' && last >= 0:
			open[last]++
		case r == '}' && last >= 0:
			product, open = product*open[last], open[:last]
		}
		if product > maxAlternatives {
			return product
		}
	}
	return product
}

// applies reports whether one of the places, absolute, matches a pattern, which is relative
// to the directory.
func applies(dir string, patterns, places []string) bool {
	for _, place := range places[:min(len(places), maxPlaces)] {
		rel, err := filepath.Rel(dir, place)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		rel = filepath.ToSlash(rel)
		if slices.ContainsFunc(patterns, func(pattern string) bool {
			return doublestar.MatchUnvalidated(pattern, rel)
		}) {
			return true
		}
	}
	return false
}
