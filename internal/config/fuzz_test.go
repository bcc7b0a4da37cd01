package config

import (
	"reflect"
	"slices"
	"testing"
)

// narrower reports whether a list selects nothing that the other one does not; nil is everything.
func narrower(list, than []string) bool {
	return than == nil || list != nil && !slices.ContainsFunc(list, func(name string) bool {
		return !slices.Contains(than, name)
	})
}

// A project can tighten only settings that the loader can compare.
func TestTighteningSettingsAreComparable(t *testing.T) {
	for _, k := range settings() {
		if k.project == tightens && (k.looseness == nil) == (k.list == nil) {
			t.Errorf("%s has no order of its values, or two", k.key)
		}
		if k.project != refused && k.project != fills && k.project != tightens {
			t.Errorf("%s has no rule for projects", k.key)
		}
	}
}

// A project's file is untrusted: for any content, Load accepts or refuses it, and no
// setting becomes looser.
func FuzzProject(f *testing.F) {
	f.Add("permission = 'allow'\n[jobs]\nrelease = 'allow'")
	f.Add("max_steps = 3\ntools = ['read']\n[providers.x]\nwire = 'chat'")
	f.Add("a.b.'c d' = {x = [1, {y = 1979-05-27}]}\n[[z]]\n[z.y]\n\"\\u0041\" = '''\n'''")
	f.Add("model = 'a/b'\nretries = 0\nretry_for = 0\nstall_timeout = '0s'")
	f.Add("[lsp]\nservers = ['gopls', 'gopls']\nuse = 'off'\n[sandbox]\ngit = 'write'")
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := parse("project", []byte(text))
		if err != nil {
			return
		}
		nothing := func(string) string { return "" }
		l := &loader{settings: settings(), Resolved: Resolved{
			Settings: defaults(), Origins: map[string]Origin{}, in: Input{Getenv: nothing, GOOS: "linux"},
		}}
		before := l.Settings
		if l.projectFile(doc) != nil {
			return
		}
		for _, k := range l.settings {
			if k.project == tightens && k.looseness != nil && k.looseness(&l.Settings) > k.looseness(&before) {
				t.Errorf("%s went from %v to %v", k.key, k.get(&before), k.get(&l.Settings))
			}
			if k.project == tightens && k.list != nil && !narrower(*k.list(&l.Settings), *k.list(&before)) {
				t.Errorf("%s went from %v to %v", k.key, k.get(&before), k.get(&l.Settings))
			}
			if k.project == refused && !reflect.DeepEqual(k.get(&l.Settings), k.get(&before)) {
				t.Errorf("%s was set", k.key)
			}
		}
		if !reflect.DeepEqual(l.Providers, builtin()) || len(l.Models) > 0 {
			t.Error("providers or models were set")
		}
		_ = l.Lines()
	})
}
