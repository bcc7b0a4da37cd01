package assemble

import (
	"testing"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// A key at an address has one limiter and so many places, whichever of its models
// are asked.
func TestSharedIsByKey(t *testing.T) {
	var s Shared
	made := 0
	get := func(name, key string) (*limited, any) {
		c := config.Choice{Provider: config.Provider{Name: "p", BaseURL: "http://localhost:1", MaxConcurrent: 4}, Model: name}
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
