package config

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/egress"
)

// The kinds of settings. A value is a string from a flag or a variable, or a TOML value:
// string, int64, []any, ….

func text(key string, field func(*Settings) *string) *setting {
	return &setting{
		key: key,
		set: func(s *Settings, value any) (err error) {
			*field(s), err = asText(value)
			return err
		},
		get: func(s *Settings) any { return *field(s) },
	}
}

// choice takes its options in order, the loosest first.
func choice[T ~string](key string, field func(*Settings) *T, options ...string) *setting {
	return &setting{
		key: key,
		set: func(s *Settings, value any) error {
			word, err := asOneOf[T](value, options)
			if err != nil {
				return err
			}
			*field(s) = word
			return nil
		},
		get: func(s *Settings) any { return string(*field(s)) },
		looseness: func(s *Settings) float64 {
			if *field(s) == "" {
				// The frontend decides. Only the loosest option is certainly no tighter.
				return -0.5
			}
			return -float64(slices.Index(options, string(*field(s))))
		},
	}
}

// permission is the permission of sessions. If the user sets none, frontends ask or allow: a
// project that says "review" could loosen the one, so that it counts as looser. "read-only", the name of
// the mode, is "deny". The modes accept-edits and plan also set [Settings.Mode].
func permission(key string, field func(*Settings) *event.Permission) *setting {
	options := []string{string(event.Allow), string(event.Review), string(event.Ask), string(event.Deny)}
	k := choice(key, field, options...)
	set := k.set
	k.set = func(s *Settings, value any) error {
		mode := ""
		switch value {
		case "read-only":
			value = string(event.Deny)
		case "accept-edits", "accept edits":
			mode, value = "accept-edits", string(event.Ask)
		case "plan":
			mode, value = "plan", string(event.Ask)
		}
		err := set(s, value)
		if err == nil {
			s.Mode = mode
		}
		return err
	}
	k.get = func(s *Settings) any { return cmp.Or(s.Mode, string(*field(s))) }
	looseness := k.looseness
	k.looseness = func(s *Settings) float64 {
		if *field(s) == "" {
			return -1.5 // between review and ask
		}
		if s.Mode == "accept-edits" {
			return -1.75 // looser than ask; a project's "review" could allow commands, and counts as looser
		}
		return looseness(s)
	}
	return k
}

// count accepts 0 and more; 0 is no limit.
func count(key string, field func(*Settings) *int) *setting {
	return &setting{
		key: key,
		set: func(s *Settings, value any) (err error) {
			*field(s), err = asCount(value)
			return err
		},
		get:       func(s *Settings) any { return *field(s) },
		looseness: func(s *Settings) float64 { return orInfinite(float64(*field(s))) },
	}
}

// bound is a count whose tightest value is 0.
func bound(key string, field func(*Settings) *int) *setting {
	k := count(key, field)
	k.looseness = func(s *Settings) float64 { return float64(*field(s)) }
	return k
}

// dollars is an amount in US dollars.
func dollars(key string, field func(*Settings) *float64) *setting {
	return &setting{
		key: key,
		set: func(s *Settings, value any) (err error) {
			*field(s), err = asDollars(value)
			return err
		},
		get:       func(s *Settings) any { return *field(s) },
		looseness: func(s *Settings) float64 { return orInfinite(*field(s)) },
	}
}

// retries is a count whose tightest value is 0.
func retries(key string, field func(*Settings) *int) *setting {
	k := count(key, field)
	k.looseness = func(s *Settings) float64 {
		if *field(s) < 0 {
			// The smallest default number, for stalls.
			return 2
		}
		return float64(*field(s))
	}
	return k
}

// duration accepts 0 and more; 0 is no limit.
func duration(key string, field func(*Settings) *time.Duration) *setting {
	return &setting{
		key: key,
		set: func(s *Settings, value any) (err error) {
			*field(s), err = asDuration(value)
			return err
		},
		get:       func(s *Settings) any { return *field(s) },
		looseness: func(s *Settings) float64 { return orInfinite(float64(*field(s))) },
	}
}

// budget is a duration whose tightest value is 0.
func budget(key string, field func(*Settings) *time.Duration) *setting {
	k := duration(key, field)
	k.looseness = func(s *Settings) float64 { return float64(*field(s)) }
	return k
}

func names(key string, field func(*Settings) *[]string) *setting {
	return &setting{
		key: key,
		set: func(s *Settings, value any) (err error) {
			*field(s), err = asNames(value)
			return err
		},
		get:  func(s *Settings) any { return *field(s) },
		list: field,
	}
}

// hosts is a list of hosts that can be reached.
func hosts(key string, field func(*Settings) *[]string) *setting {
	k := names(key, field)
	k.set = func(s *Settings, value any) error {
		list, err := asNames(value)
		if err == nil {
			_, err = egress.ParseList(list)
		}
		if err == nil {
			*field(s) = list
		}
		return err
	}
	return k
}

// addresses is a list of private addresses.
func addresses(key string, field func(*Settings) *[]string) *setting {
	k := names(key, field)
	set := k.set
	k.set = func(s *Settings, value any) error {
		if err := set(s, value); err != nil {
			return err
		}
		_, err := egress.ParsePrivate(*field(s))
		return err
	}
	return k
}

// namesOf is a subset of the options.
func namesOf(key string, field func(*Settings) *[]string, options ...string) *setting {
	k := names(key, field)
	set := k.set
	k.set = func(s *Settings, value any) error {
		if err := set(s, value); err != nil {
			return err
		}
		for _, name := range *field(s) {
			if _, err := asOneOf[string](name, options); err != nil {
				return err
			}
		}
		return nil
	}
	return k
}

func orInfinite(limit float64) float64 {
	if limit == 0 {
		return math.Inf(1)
	}
	return limit
}

func asText(value any) (string, error) {
	word, ok := value.(string)
	if !ok {
		return "", fmt.Errorf("must be a string, not %s", described(value))
	}
	// The word is shown on terminals and sent in headers.
	if strings.ContainsFunc(word, unicode.IsControl) {
		return "", fmt.Errorf("must be one line without control characters, not %q", word)
	}
	return word, nil
}

// asOneOf reads one of the options.
func asOneOf[T ~string](value any, options []string) (T, error) {
	word, err := asText(value)
	if err == nil && !slices.Contains(options, word) {
		err = fmt.Errorf("%q is not one of %s%s", word, strings.Join(options, ", "), DidYouMean(word, options))
	}
	if err != nil {
		return "", err
	}
	return T(word), nil
}

func asCount(value any) (int, error) {
	switch v := value.(type) {
	case int64:
		if v >= 0 && v <= math.MaxInt32 {
			return int(v), nil
		}
	case string:
		if n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 32); err == nil && n >= 0 {
			return int(n), nil
		}
	}
	return 0, fmt.Errorf("must be a whole number, 0 or more, not %s", described(value))
}

// asDollars accepts an amount as a number or a text such as "2.50".
func asDollars(value any) (float64, error) {
	amount := math.NaN()
	switch v := value.(type) {
	case int64:
		amount = float64(v)
	case float64:
		amount = v
	case string:
		if n, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(v), "$"), 64); err == nil {
			amount = n
		}
	}
	if !(amount >= 0) || math.IsInf(amount, 0) {
		return 0, fmt.Errorf("must be an amount in US dollars such as 2.50, not %s", described(value))
	}
	return amount, nil
}

// asDuration accepts a text with a unit, such as "90s", or 0.
func asDuration(value any) (time.Duration, error) {
	word, isText := value.(string)
	if n, ok := value.(int64); ok {
		word, isText = strconv.FormatInt(n, 10), true
	}
	word = strings.TrimSpace(word)
	if d, err := time.ParseDuration(word); isText && err == nil && d >= 0 {
		return d, nil
	}
	if n, err := strconv.ParseFloat(word, 64); err == nil && n >= 0 && !math.IsInf(n, 0) {
		return 0, fmt.Errorf(
			`%s has no unit; did you mean "%ss" (seconds)? Write a duration as "90s", "10m" or "1h30m"`,
			described(value),
			word,
		)
	}
	return 0, fmt.Errorf(`must be a duration such as "90s" or "10m", not %s`, described(value))
}

// asNames accepts a list, or a text with commas. The result is never nil.
func asNames(value any) ([]string, error) {
	list := []string{}
	switch v := value.(type) {
	case string:
		for name := range strings.SplitSeq(v, ",") {
			if name = strings.TrimSpace(name); name != "" {
				list = append(list, name)
			}
		}
		return list, nil
	case []any:
		for _, one := range v {
			name, err := asText(one)
			if err != nil {
				return nil, fmt.Errorf("each entry %w", err)
			}
			list = append(list, name)
		}
		return list, nil
	}
	return nil, fmt.Errorf("must be a list of strings, not %s", described(value))
}

func described(value any) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(v)
	case map[string]any:
		return "a table"
	case []any:
		return "a list"
	}
	return fmt.Sprint(value)
}
