package assemble

import (
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// A key at an address has one limiter and one bound for all of its models.
func TestSharedIsByKey(t *testing.T) {
	var s Shared
	made := 0
	get := func(name, key string) (*limited, any) {
		c := config.Choice{
			Provider: config.Provider{Name: "p", BaseURL: "http://localhost:1", MaxConcurrent: 4},
			Model:    name,
		}
		a := s.account(c, newKey(key, nil))
		return a.provider(name, func() model.Provider { made++; return script.New() }).(*limited), a.limiter
	}
	one, first := get("one", "k")
	again, _ := get("one", "k")
	two, second := get("two", "k")
	other, third := get("one", "another")
	if one != again || made != 3 {
		t.Errorf("%d providers were made; want one for each model and key", made)
	}
	if first != second || one.places != two.places || cap(one.places) != 4 {
		t.Error("models of one key do not share what bounds them")
	}
	if first == third || one.places == other.places {
		t.Error("keys share what bounds them")
	}
}

// TestAccountsAreKnownToOthers: a key at an address is announced once, by a hash without
// the key (C15), and its providers are wrapped.
func TestAccountsAreKnownToOthers(t *testing.T) {
	var seen []Account
	wrapped := 0
	s := Shared{Account: func(a Account) func(model.Provider) model.Provider {
		seen = append(seen, a)
		return func(p model.Provider) model.Provider { wrapped++; return p }
	}}
	for _, key := range []string{"key-of-many-characters", "key-of-many-characters", "another"} {
		for _, name := range []string{"one", "two"} {
			c := config.Choice{Provider: config.Provider{Name: "p", BaseURL: "http://localhost:1"}, Model: name}
			a := s.account(c, newKey(key, nil))
			a.provider(name, func() model.Provider { return script.New() })
		}
	}
	if len(seen) != 2 || wrapped != 4 || seen[0].ID == seen[1].ID || seen[0].Provider != "p" ||
		strings.Contains(seen[0].ID, "key") {
		t.Errorf("%+v, %d wrapped", seen, wrapped)
	}
	told := 0
	seen[0].Limiter.OnHold = func(time.Time) { told++ }
	seen[0].Limiter.Join(time.Now())
	seen[0].Limiter.Hold(time.Now())
	if told != 1 {
		t.Errorf("others were told %d times", told)
	}
}
