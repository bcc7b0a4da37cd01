package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
)

// projectFile reads the permitted settings of a project's own file. It omits other settings
// and adds a note; an invalid value is an error, because it can be meant to tighten.
func (l *loader) projectFile(doc *document) error {
	top := doc.root()
	l.walk(top, l.projectValue)
	for _, key := range []string{"providers", "models", "mcp", "hooks"} {
		if _, ok := top.take(key); ok {
			l.ignored(top, key, "a project may not set it")
		}
	}
	l.projectRules(top)
	top.done()
	return errors.Join(*top.errs...)
}

// projectRules reads the rules that ask or deny.
func (l *loader) projectRules(top *table) {
	for _, r := range rules(top, Origin{Kind: Project}) {
		if r.Decision == event.Allow {
			l.Notes = append(
				l.Notes,
				fmt.Sprintf(
					"%s: the rule %q was ignored: a project may only tighten; to set it for yourself, put it in %s",
					r.Origin, r.String(), l.ownFile(),
				),
			)
			continue
		}
		r.Tightens = true
		l.Rules = append(l.Rules, r)
	}
}

func (l *loader) projectValue(t *table, key string, k *setting, value any) {
	want := l.Settings
	if err := k.set(&want, value); err != nil {
		t.fail(key, err)
		return
	}
	switch {
	case k.project == refused:
		l.ignored(t, k.key, "a project may not set it")
		return
	case want.Mode != "" && want.Mode != l.Mode:
		l.ignored(t, k.key, shown(k.get(&want))+" is a mode, and a project may not set it")
		return
	case k.project == fills:
		if l.origin(k.key).Kind == File {
			return // the user's value wins
		}
	case k.list != nil:
		*k.list(&want) = l.narrowed(t, k, *k.list(&want))
	case k.looseness(&want) > k.looseness(&l.Settings):
		l.ignored(t, k.key, fmt.Sprintf("%s is looser than %s, and a project may only tighten", shown(k.get(&want)),
			l.inForce(k)))
		return
	case k.looseness(&want) == k.looseness(&l.Settings):
		return
	}
	l.Settings = want
	l.Origins[k.key] = Origin{Kind: Project, Where: t.where(key)}
}

// narrowed returns the names that both the user and the project select.
func (l *loader) narrowed(t *table, k *setting, want []string) []string {
	selected := *k.list(&l.Settings)
	if selected == nil {
		return want
	}
	both := []string{}
	for _, name := range want {
		if slices.Contains(selected, name) {
			both = append(both, name)
		}
	}
	if len(both) < len(want) {
		allowed := "none"
		if len(both) > 0 {
			allowed = "only " + shown(both)
		}
		l.ignored(t, k.key, fmt.Sprintf("%s of %s are allowed by %s, and a project may only tighten",
			allowed, shown(want), l.origin(k.key)))
	}
	return both
}

// ignored adds a note about an omitted value of a project.
func (l *loader) ignored(t *table, key, why string) {
	_, last, nested := strings.Cut(key, ".")
	if !nested {
		last = key
	}
	l.Notes = append(l.Notes, fmt.Sprintf("%s: %s was ignored: %s; to set it for yourself, put it in %s%s",
		t.where(last), key, why, l.ownFile(), alternative(key)))
}

func (l *loader) ownFile() string {
	if l.UserFile == "" {
		return "your own configuration file"
	}
	return l.UserFile
}

// alternative returns the flag for a setting, if there is one.
func alternative(key string) string {
	if strings.Contains(key, ".") || slices.Contains([]string{"providers", "models", "mcp", "hooks"}, key) {
		return ""
	}
	return " or use " + FlagOf(key)
}

func (l *loader) inForce(k *setting) string {
	value := shown(k.get(&l.Settings))
	if value == "" {
		return "the default"
	}
	return fmt.Sprintf("%s (%s)", value, l.origin(k.key))
}

func (r *Resolved) origin(key string) Origin {
	if origin, ok := r.Origins[key]; ok {
		return origin
	}
	return Origin{Kind: Default}
}
