package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/settle-agent/settle/internal/bound"
)

// maxQuote bounds the quote of a model's arguments in an error, in bytes.
const maxQuote = 60

func clip(s string) string { return clipTo(s, maxQuote) }

// clipTo cuts s to at most limit bytes, at a rune, and marks the cut.
func clipTo(s string, limit int) string { return bound.Clip(s, limit) }

// orEmpty replaces omitted arguments by an empty object.
func orEmpty(args json.RawMessage) json.RawMessage {
	if isBlank(args) {
		return json.RawMessage("{}")
	}
	return args
}

func isBlank(args []byte) bool { return len(bytes.TrimSpace(args)) == 0 }

// parseArgs reads arguments as one JSON object, strictly: it repairs and guesses nothing.
func parseArgs(args []byte) (map[string]any, error) {
	if !utf8.Valid(args) {
		return nil, fmt.Errorf("the arguments are not valid UTF-8 (at byte %d)", invalidAt(args))
	}
	var value any
	if err := json.Unmarshal(args, &value); err != nil {
		return nil, explainSyntax(args, err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the arguments must be one JSON object, got %s", describe(value))
	}
	if err := checkSurrogates(args); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	duplicate, err := findDuplicate(dec)
	if err != nil {
		return nil, err
	}
	if duplicate != "" {
		return nil, fmt.Errorf("the argument %q is given twice", clip(duplicate))
	}
	return object, nil
}

func invalidAt(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(b)
}

func explainSyntax(args []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return fmt.Errorf("the arguments are not valid JSON: %s", clipTo(err.Error(), 200))
	}
	at := max(0, min(int(syntax.Offset)-1, len(args)))
	if at >= len(bytes.TrimRight(args, " \t\r\n")) || strings.Contains(syntax.Error(), "unexpected end") {
		return fmt.Errorf(
			"the arguments are not valid JSON: they end in the middle, after %s; send the whole object again",
			around(args, len(args)),
		)
	}
	if strings.Contains(syntax.Error(), "after top-level value") {
		return fmt.Errorf("the arguments must be one JSON object with nothing after it, got %s at byte %d",
			quoteFrom(args, at), at)
	}
	return fmt.Errorf("the arguments are not valid JSON: %s at byte %d, after %s", syntax.Error(), at, around(args, at))
}

// around quotes the bytes before a position.
func around(args []byte, at int) string {
	from := max(0, at-maxQuote/2)
	for from < at && !utf8.RuneStart(args[from]) {
		from++
	}
	return fmt.Sprintf("%q", args[from:at])
}

func quoteFrom(args []byte, at int) string { return fmt.Sprintf("%q", clip(string(args[at:]))) }

// checkSurrogates refuses half a UTF-16 pair in an escape, which encoding/json would
// replace by U+FFFD: the tool would write another text than the model's. The arguments are
// valid JSON.
func checkSurrogates(args []byte) error {
	for i := 0; i < len(args); i++ {
		if args[i] != '\\' {
			continue
		}
		i++
		r, ok := escapedUnit(args, i)
		if !ok || !utf16.IsSurrogate(r) {
			continue
		}
		low, ok := escapedUnit(args, i+6)
		if !ok || args[i+5] != '\\' || utf16.DecodeRune(r, low) == utf8.RuneError {
			return fmt.Errorf("the arguments are not valid: %q at byte %d is half a surrogate pair", args[i-1:i+5], i-1)
		}
		i += 10
	}
	return nil
}

// escapedUnit reads "uXXXX" at i.
func escapedUnit(args []byte, i int) (rune, bool) {
	if i+5 > len(args) || args[i] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range args[i+1 : i+5] {
		digit := strings.IndexByte("0123456789abcdef", c|0x20)
		if digit < 0 {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}

// findDuplicate reads one valid JSON value and returns the path of a key that an object has
// twice; "" if there is none. encoding/json would use the last one.
func findDuplicate(dec *json.Decoder) (string, error) {
	token, err := dec.Token()
	if err != nil {
		return "", err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return "", nil
	}
	seen := map[string]bool{}
	for i := 0; dec.More(); i++ {
		key := ""
		if delim == '{' {
			if token, err = dec.Token(); err != nil {
				return "", err
			}
			key, _ = token.(string)
			if seen[key] {
				return key, nil
			}
			seen[key] = true
		}
		duplicate, err := findDuplicate(dec)
		if err != nil {
			return "", err
		}
		if duplicate != "" && delim == '[' {
			key = fmt.Sprintf("[%d]", i)
		}
		if duplicate != "" {
			return join(key, duplicate), nil
		}
	}
	_, err = dec.Token()
	return "", err
}

func join(path, key string) string {
	if path == "" || strings.HasPrefix(key, "[") {
		return path + key
	}
	return path + "." + key
}

// describe describes a JSON value for an error, with a bounded quote.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprintf("the boolean %t", v)
	case float64:
		return fmt.Sprintf("the number %v", v)
	case string:
		return fmt.Sprintf("the string %q", clip(v))
	case []any:
		return fmt.Sprintf("an array of %d", len(v))
	case map[string]any:
		return "an object"
	}
	return fmt.Sprintf("%T", value)
}
