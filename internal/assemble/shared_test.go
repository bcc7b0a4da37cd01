package assemble

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/model/transport"
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
		m := a.model(name, func() (model.Provider, transport.Endpoint) {
			made++
			return script.New(), transport.Endpoint{}
		})
		return m.provider.(*limited), a.limiter
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
			a.model(name, func() (model.Provider, transport.Endpoint) { return script.New(), transport.Endpoint{} })
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

// Agents that share their accounts ask a local server for a model's window over one connection.
func TestSharedAsksForWindowsOverOneConnection(t *testing.T) {
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	r := resolve(t, t.TempDir(), map[string]string{"model": "chat/x", "base_url": server.URL + "/v1"}, nil, "")
	var s Shared
	for range 3 {
		make1(t, r, func(o *Options) { o.Shared = &s })
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections; want 1", n)
	}
}
