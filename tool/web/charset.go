package web

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"mime"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// mediaType returns the type of an answer without its parameters; "" for none.
func mediaType(header string) string {
	kind, _, _ := strings.Cut(header, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

func isHTML(kind string) bool { return kind == "text/html" || kind == "application/xhtml+xml" }

// isText reports whether a type can be text.
func isText(kind string) bool {
	if kind == "" || strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") ||
		strings.HasSuffix(kind, "+xml") {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/x-javascript",
		"application/ecmascript", "application/yaml",
		"application/x-yaml", "application/toml", "application/x-ndjson", "application/jsonl", "application/sql",
		"application/graphql", "application/x-sh":
		return true
	}
	return false
}

// decoded returns the text of an answer in UTF-8, UTF-16, or a Latin character set. Other
// character sets would need tables many times larger than this package.
func decoded(data []byte, contentType string, html bool) (string, error) {
	charset := ""
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		charset = params["charset"]
	}
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		data, charset = data[3:], "utf-8"
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		data, charset = data[2:], "utf-16le"
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		data, charset = data[2:], "utf-16be"
	case charset == "" && html:
		charset = declared(data)
	}
	switch charset = strings.ToLower(strings.TrimSpace(charset)); charset {
	case "", "utf-8", "utf8", "unicode-1-1-utf-8", "us-ascii", "ascii":
		if charset == "" && !utf8.Valid(data) {
			return latin(data), nil
		}
		return strings.ToValidUTF8(string(data), "\uFFFD"), nil
	case "utf-16", "utf-16le":
		return wide(data, binary.LittleEndian), nil
	case "utf-16be":
		return wide(data, binary.BigEndian), nil
	case "iso-8859-1", "latin1", "windows-1252", "cp1252", "iso-8859-15", "latin-1":
		return latin(data), nil
	}
	if utf8.Valid(data) {
		return string(data), nil // it declares another character set, and is valid UTF-8
	}
	return "", fmt.Errorf("the page is in the character set %q, which settle does not know", clip(charset, 40))
}

// declared returns the character set that an HTML page declares in its first kilobyte.
func declared(data []byte) string {
	found := regexp.MustCompile(`(?i)<meta[^>]+charset\s*=\s*["']?\s*([a-z0-9_:.-]+)`).
		FindSubmatch(data[:min(len(data), 1024)])
	if found == nil {
		return ""
	}
	// the declaration was readable as bytes
	if name := strings.ToLower(string(found[1])); !strings.HasPrefix(name, "utf-16") {
		return name
	}
	return "utf-8"
}

func wide(data []byte, order binary.ByteOrder) string {
	units := make([]uint16, 0, len(data)/2)
	for ; len(data) > 1; data = data[2:] {
		units = append(units, order.Uint16(data))
	}
	return string(utf16.Decode(units))
}

// latin reads windows-1252, as browsers do for all names of Latin 1. Source:
// https://encoding.spec.whatwg.org/index-windows-1252.txt
func latin(data []byte) string {
	high := []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")
	var b strings.Builder
	for _, c := range data {
		if c >= 0x80 && c < 0xa0 {
			b.WriteRune(high[c-0x80])
			continue
		}
		b.WriteRune(rune(c))
	}
	return b.String()
}
