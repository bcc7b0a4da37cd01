package house_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The prose lint finds idioms that make text hard to read: pronouns in the place of
// nouns, passive verbs without an actor, and words that only this project used. Its
// limits are findings per 1,000 words. A low figure proves nothing; a high figure shows
// where to read. List the findings of a part of the tree with
//
//	go test ./internal/house -run TestProse -findings internal/turn

// a flag of the test binary
var findings = flag.String("findings", "", "list the findings in files whose path begins with this, or \".\" for all")

// proseKind is a kind of text that the lint reads.
type proseKind string

const (
	markdownText proseKind = "Markdown"
	commentText  proseKind = "comments"
	stringText   proseKind = "strings"
)

// proseLimits are findings per 1,000 words.
func proseLimits() map[proseKind]float64 {
	return map[proseKind]float64{markdownText: 0.8, commentText: 1.0, stringText: 0.8}
}

// maxSentenceWords is the length from which a sentence is listed. Long sentences do not
// count against the limits.
const maxSentenceWords = 35

// proseRule is an idiom, with its replacement.
type proseRule struct {
	name, advice string
	pattern      *regexp.Regexp
}

func proseRules() []proseRule {
	sensitive := func(name, advice, pattern string) proseRule {
		return proseRule{name, advice, regexp.MustCompile(pattern)}
	}
	rule := func(name, advice, pattern string) proseRule { return sensitive(name, advice, `(?i)`+pattern) }
	return []proseRule{
		sensitive(
			"what-clause", "name the thing",
			`(?:^|[.;:|] +)(?:\*\*)?What (?:a|an|the|is|was|comes|came|has|you|it|they|runs|ran|goes|does|settle|could|cannot|only|follows|differs|remains|stays|waits|needs|should|somebody|nobody|others|may|one|files|tools|people)\b[^?]*$`,
		),
		rule(
			"what-object", "name the thing",
			`\b(?:of|to|for|from|with|by|beside|than|and|says|has|puts|keeps|ends|undoes) what (?:it|is|was|they|a|an|the|settle|has|comes|came|runs|ran|that|there|one|follows|remains|stays|ran)\b`,
		),
		rule("whoever", "name the actor", `\b(?:whoever|whatever|whichever)\b`),
		rule("nobody", "name the actor: the user, the client, a process", `\b(?:somebody|nobody|anybody|everybody)\b`),
		rule(
			"told", "the model receives; settle reports",
			`\b(?:is|are|was|were|be|been|being|not|to be) told\b|\btells? of\b|\btold of\b`,
		),
		rule("said", "reports, prints, states", `\b(?:is|are|was|were|be|been) said\b|\bsays it\b|\bsay it\b`),
		rule("goes-on", "continues", `\bgo(?:es|ing)? on\b|\bwent on\b`),
		rule("so-do", "also", `(?:^|[.;,] )(?:and )?so (?:do|does|did|is|are|was|were|has|have) `),
		rule("postfix-too", "also, before the verb", `, too\b`),
		sensitive(
			"of-front", "start with the subject",
			`(?:^|[.;:] +)Of (?:a|an|the|several|those|all|one|what|these|its|it)\b`,
		),
		rule("that-of", "repeat the noun", `\b(?:that|those) of\b`),
		rule(
			"is-to", "must, will, should",
			`\b(?:is|are|was|were) (?:not )?to (?:be |have |do |go |end |run |say |wait |hear |come )`,
		),
		rule("had", "is available", `\bcan(?:not)? be had\b|\bto be had\b|\bcould be had\b`),
		rule(
			"makes-anew", "creates again, recreates",
			`\b(?:anew|afresh|thereby|thereof|therein|meanwhile|hitherto|whence)\b`,
		),
		rule("stands", "is", `\bstands? (?:for|still|in|alone|beside)\b|\bstand-ins?\b`),
		rule(
			"lets-go", "releases",
			`\blets? go of\b|\bletting go\b|\blooks? after\b|\bdone with\b|\bgives? (?:it|them|that) up\b|\bgiven up\b|\bin the place of\b|\bway[s]? (?:in|out)\b|\bas it is now\b`,
		),
		rule(
			"metaphor", "use the glossary's term",
			`\b(?:brain|brains|custody|boxed|the door|heirs?|strangers?|ladder|rungs?|guests?|greets?|rouses?|knocks?|mourns?)\b`,
		),
		rule(
			"noun-ellipsis", "repeat the noun",
			`\b(?:as|such as|like) (?:it|they) (?:is|are|was|were|does|do|did)\b[.;,]`,
		),
		rule("but-except", "except", `\bbut (?:those|that|the ones|at|in|not those)\b|\bnothing but\b|\ball but\b`),
		rule("may-not", "must not, or cannot", `\bmay not\b`),
	}
}

// prose counts words and findings of a kind of text.
type prose struct {
	kind  proseKind
	rules []proseRule
	words int
	found int
	list  []string // for -findings
}

var (
	inlineCode = regexp.MustCompile("`[^`]*`")
	inlineLink = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	sentence   = regexp.MustCompile(`([.?!])["”)]?\s+`)
	numbered   = regexp.MustCompile(`^\d+\. `)
)

// add reads a paragraph, a comment or a string.
func (p *prose) add(file string, line int, text string) {
	if p.kind != stringText {
		text = inlineLink.ReplaceAllString(inlineCode.ReplaceAllString(text, "CODE"), "$1")
	}
	p.words += len(strings.Fields(text))
	sentences := []string{text}
	if p.kind != stringText {
		sentences = strings.Split(sentence.ReplaceAllString(text, "$1\x00"), "\x00")
	}
	for _, s := range sentences {
		for _, r := range p.rules {
			if r.pattern.MatchString(s) && p.applies(r) {
				p.found++
				p.report(file, line, r.name+" ("+r.advice+")", s)
			}
		}
		if n := len(strings.Fields(s)); n > maxSentenceWords && p.kind != stringText {
			p.report(file, line, strconv.Itoa(n)+" words", s)
		}
	}
}

// applies leaves out rules that are wrong for code: a message quotes programs, and "may
// not" in a comment is often right.
func (p *prose) applies(r proseRule) bool {
	switch r.name {
	case "noun-ellipsis":
		return p.kind != stringText
	case "may-not":
		return p.kind == markdownText
	}
	return true
}

func (p *prose) report(file string, line int, rule, text string) {
	if *findings != "" && (*findings == "." || strings.HasPrefix(file, *findings)) {
		p.list = append(p.list, fmt.Sprintf("%s:%d: %s: %s", file, line, rule, strings.TrimSpace(text)))
	}
}

// markdown reads paragraphs, list items and table cells, without code blocks.
func (p *prose) markdown(file, content string) {
	var paragraph []string
	start, fenced := 0, false
	flush := func() {
		p.add(file, start, strings.Join(paragraph, " "))
		paragraph = nil
	}
	for i, line := range strings.Split(content, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			flush()
			fenced = !fenced
			continue
		case fenced:
			continue
		case line == "" || strings.HasPrefix(line, "#"):
			flush()
			continue
		case strings.HasPrefix(line, "|"):
			flush()
			for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
				p.add(file, i+1, cell)
			}
			continue
		case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "* "), numbered.MatchString(line):
			flush()
			_, line, _ = strings.Cut(line, " ")
		}
		if paragraph == nil {
			start = i + 1
		}
		paragraph = append(paragraph, line)
	}
	flush()
}

// comments reads the comments of a Go file.
func (p *prose) comments(s source) {
	for _, group := range s.file.Comments {
		p.add(s.name, s.line(group.Pos()), strings.Join(strings.Fields(group.Text()), " "))
	}
}

// strings reads the string literals of a Go file that are sentences.
func (p *prose) strings(s source) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(literal.Value); err == nil && strings.Count(text, " ") > 2 {
			p.add(s.name, s.line(literal.Pos()), text)
		}
		return true
	})
}

func TestProse(t *testing.T) {
	texts := map[proseKind]*prose{}
	for kind := range proseLimits() {
		texts[kind] = &prose{kind: kind, rules: proseRules()}
	}
	for _, s := range tree(t) {
		if !s.test {
			texts[commentText].comments(s)
			texts[stringText].strings(s)
		}
	}
	for _, name := range files(t, ".md") {
		if strings.Contains(name, "/adr/") {
			continue // a decision keeps the words of its day
		}
		content, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		texts[markdownText].markdown(name, string(content))
	}
	for kind, limit := range proseLimits() {
		p := texts[kind]
		rate := 1000 * float64(p.found) / float64(max(p.words, 1))
		t.Logf("%s: %.2f findings per 1,000 words (%d in %d)", kind, rate, p.found, p.words)
		if p.words < 1000 {
			t.Errorf("%s: only %d words were found", kind, p.words)
		}
		if rate > limit {
			t.Errorf(
				"%s: %.2f findings per 1,000 words, at most %.1f; list them with -findings DIR, and see CONTRIBUTING.md",
				kind, rate, limit,
			)
		}
		for _, finding := range p.list {
			fmt.Println(finding)
		}
	}
}
