package redact

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
)

// forms returns the encodings in which a secret can appear: plain, escaped for JSON or for
// a URL, and inside base64 data, such as the user and password of basic authentication.
func forms(value string) []string {
	all := []string{
		value, inJSON(value),
		strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(inJSON(value)),
	}
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value), userinfo(value)} {
		all = append(all, escaped, lowerHex(escaped))
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			all = append(all, within64(encoding, value, before))
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(form string) bool { return len(form) < MinLength })
}

func inJSON(value string) string {
	quoted := event.AppendString(nil, value)
	return string(quoted[1 : len(quoted)-1])
}

func userinfo(value string) string {
	return strings.TrimPrefix(url.UserPassword("", value).String(), ":")
}

// lowerHex changes %2F to %2f.
func lowerHex(escaped string) string {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
		}
	}
	return string(b)
}

// within64 returns the digits of the encoding that value alone determines if 3k+before
// bytes precede it, for any bytes after it.
func within64(encoding *base64.Encoding, value string, before int) string {
	digits := encoding.EncodeToString(append(make([]byte, before), value...))
	first := (before*8 + 5) / 6
	last := (before + len(value)) * 8 / 6
	return digits[first:last]
}
