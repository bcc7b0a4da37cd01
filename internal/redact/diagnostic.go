package redact

import (
	"regexp"
	"strings"
	"sync"
)

// Diagnostic masks text that looks like a secret in a diagnostic: the user information of
// URLs, credentials in headers, query parameters, forms and JSON, bearer tokens, and keys
// with a known provider's prefix. All other text stays. Masking twice gives the same text
// as masking once.
func Diagnostic(text string) string {
	for _, p := range patterns() {
		text = p.mask(text)
	}
	return text
}

// pattern masks the last group of each accepted match.
type pattern struct {
	expr   *regexp.Regexp
	accept func(value string) bool // nil accepts every match
}

const (
	// header and field match the value after "Name: " and after "name=". Like all values
	// here they match a whole Mask, so that Diagnostic does not mask it again.
	header = `[^\s"'` + "`" + `&;,<>()\[\]{}\\]+`
	field  = `[^\s"'` + "`" + `&;,<>()\[\]{}\\#]+`
	// keyNames are names of credentials in any place.
	keyNames = `(?:proxy-)?authorization|(?:[\w-]*[_-])?api[_-]?key|(?:[\w-]*[_-])?token|(?:[\w-]*[_-])?secret|` +
		`(?:[\w-]*[_-])?password|(?:set-)?cookie|access[_-]?key[_-]?id|secret[_-]?access[_-]?key`
	// headerNames are the names in keyNames that prose does not use before a colon.
	headerNames = `(?:proxy-)?authorization|(?:[\w-]*[_-])?api[_-]key|[\w-]+[_-](?:token|secret|password)|(?:set-)?cookie`
	// queryNames are names of credentials in the query of a URL only.
	queryNames = `key|sig|signature|x-amz-(?:signature|credential|security-token)|x-goog-(?:signature|credential)`
)

// patterns compiles the expressions at first use, to keep the start of the program fast.
var patterns = sync.OnceValue(func() []pattern {
	compile := func(parts ...string) *regexp.Regexp {
		return regexp.MustCompile(strings.Join(parts, ""))
	}
	scheme := `(?:(?:bearer|basic|digest|token|apikey|aws4-hmac-sha256)\s+)?`
	return []pattern{
		// scheme://user:password@host
		{compile(`\b[a-zA-Z][a-zA-Z0-9+.-]*://([^\s/?#"'<>\\]+)@`), nil},
		// ?key=…&sig=…
		{compile(`(?i)[?&](?:`, queryNames, `)=(`, field, `)`), nil},
		// "token": "…", the same within a JSON string, and 'token': '…'
		{compile(`(?i)"(?:`, keyNames, `)"\s*:\s*\[?\s*"`, scheme, `((?:\\.|[^"\\])+)`), nil},
		{compile(`(?i)\\+"(?:`, keyNames, `)\\+"\s*:\s*\[?\s*\\+"`, scheme, `([^"\\]+)`), nil},
		{compile(`(?i)'(?:`, keyNames, `)'\s*:\s*\[?\s*'`, scheme, `((?:\\.|[^'\\])+)`), nil},
		// token=…
		{compile(`(?i)(?:^|[^\w-])(?:`, keyNames, `)=["']?`, scheme, `(`, field, `)`), nil},
		// Authorization: Bearer …, and Go's map[Authorization:[Bearer …]]
		{compile(`(?i)(?:^|[^\w-])(?:`, headerNames, `)\s*:[ \t]*\[?["']?`, scheme, `(`, header, `)`), nil},
		{compile(`(?i)\bbearer\s+([\w.~+/=-]{8,})`), random},
		{
			compile(`\b((?:sk-|xai-|gsk_|hf_|pplx-|nvapi-|gh[pousr]_|github_pat_|glpat-|xox[abeprs]-)[\w-]{16,})`),
			random,
		},
		{compile(`\b(AIza[\w-]{30,}|(?:AKIA|ASIA)[0-9A-Z]{16}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*)`), nil},
	}
})

// placeholder matches placeholders of a secret in an explanation, such as YOUR_API_KEY: a mask
// there would indicate that a key was sent.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:YOUR[A-Z_-]*|(?:[A-Z]+_)*(?:API_KEY|ACCESS_TOKEN)|\$[A-Z_]+)$`)
})

// random distinguishes a token from a long word.
func random(value string) bool {
	return strings.ContainsAny(value, "0123456789") || len(value) >= 32
}

func (p pattern) mask(text string) string {
	matches := p.expr.FindAllStringSubmatchIndex(text, -1)
	if len(matches) == 0 {
		return text
	}
	var b strings.Builder
	done := 0
	for _, match := range matches {
		start, end := match[2], match[3]
		if p.accept != nil && !p.accept(text[start:end]) || placeholder().MatchString(text[start:end]) {
			continue
		}
		b.WriteString(text[done:start])
		b.WriteString(Mask)
		done = end
	}
	b.WriteString(text[done:])
	return b.String()
}
