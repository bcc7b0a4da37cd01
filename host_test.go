package settle_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// testHost is a host whose sessions have the same configuration.
type testHost struct {
	*settle.Host
	config settle.SessionConfig
}

func newHost(t *testing.T, dataDir string, c settle.SessionConfig) *testHost {
	t.Helper()
	if c.Model.Provider == nil {
		c.Model.Provider = script.New().Otherwise(script.Turn(script.Delay(10*time.Second), script.Text("done")))
	}
	c.Model.Name, c.Model.ProviderName = "m", "script"
	host, err := settle.Open(t.Context(), settle.Config{DataDir: dataDir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &testHost{host, c}
}

func newSession(t *testing.T, host *testHost, id string) *settle.Session {
	t.Helper()
	s, err := host.Session(t.Context(), id, host.config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// gates delays the toolbox of each session whose id it has.
type gates map[string]chan struct{}

func (g gates) toolbox(info settle.SessionInfo) (settle.Toolbox, error) {
	if gate := g[info.ID]; gate != nil {
		<-gate
	}
	return settle.Toolbox{}, nil
}

// A session that opens slowly delays no other session.
func TestSlowOpeningDelaysNoSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gates{"slow": make(chan struct{})}
		host := newHost(t, "", settle.SessionConfig{Toolbox: g.toolbox})
		var wg sync.WaitGroup
		var opened [3]*settle.Session
		for n := range opened {
			wg.Go(func() { opened[n], _ = host.Session(t.Context(), "slow", host.config) })
		}
		synctest.Wait()
		if s := newSession(t, host, "quick"); s.ID() != "quick" {
			t.Error(s.ID())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := host.Session(ctx, "slow", host.config); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("whose context ends: %v", err)
		}
		close(g["slow"])
		wg.Wait()
		if opened[0] == nil || opened[0] != opened[1] || opened[0] != opened[2] {
			t.Errorf("it was opened more than once: %v", opened)
		}
	})
}

// C2: nothing stays open behind a closed host.
func TestCloseWaitsForOpenings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gates{"slow": make(chan struct{})}
		host := newHost(t, "", settle.SessionConfig{Toolbox: g.toolbox})
		var wg sync.WaitGroup
		wg.Go(func() {
			if s, err := host.Session(t.Context(), "slow", host.config); !errors.Is(err, settle.ErrClosed) {
				t.Errorf("%v, %v", s, err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := host.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed while a session is being opened: %v", err)
		}
		close(g["slow"])
		if err := host.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wg.Wait()
	})
}

// Later callers of Close wait for the same end.
func TestConcurrentClosesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		host := newHost(t, "", settle.SessionConfig{Toolbox: func(settle.SessionInfo) (settle.Toolbox, error) {
			return settle.Toolbox{Close: func(context.Context) error { <-over; return nil }}, nil
		}})
		newSession(t, host, "s")
		time.AfterFunc(5*time.Second, func() { close(over) })
		begin := time.Now()
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if err := host.Close(t.Context()); err != nil || time.Since(begin) != 5*time.Second {
					t.Errorf("%v after %v", err, time.Since(begin))
				}
			})
		}
		wg.Wait()
	})
}

// A session can be opened again after its close, and while it closes.
func TestSessionReopens(t *testing.T) {
	over := make(chan struct{})
	host := newHost(t, t.TempDir(), settle.SessionConfig{Toolbox: func(settle.SessionInfo) (settle.Toolbox, error) {
		return settle.Toolbox{Close: func(context.Context) error { <-over; return nil }}, nil
	}})
	first := newSession(t, host, "s")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := first.Close(ctx); err == nil {
		t.Fatal("closed while its tools run")
	}
	if _, err := host.Session(ctx, "s", host.config); !errors.Is(err, context.Canceled) {
		t.Errorf("opened while it is being closed: %v", err)
	}
	close(over)
	if second := newSession(t, host, "s"); second == first || !second.State().Open {
		t.Errorf("got the one that was closed")
	}
}

// C19: for any end of the first input.
func TestAnInputSentAgainIsWaitedFor(t *testing.T) {
	for _, after := range []time.Duration{time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s := newSession(t, newHost(t, "", settle.SessionConfig{}), "")
			if _, err := s.Submit(t.Context(), "go", settle.WithID("mine")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(after)
			again, err := s.Submit(t.Context(), "go", settle.WithID("mine"))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if o, err := again.Wait(ctx); err != nil || o.Answer != "done" {
				t.Errorf("%+v, %v", o, err)
			}
			first := ""
			for e, err := range again.Events(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				if first = string(e.Kind()); first != "" {
					break
				}
			}
			if first != string(event.KindInputAccepted) {
				t.Errorf("its events begin with %s", first)
			}
		})
	}
}

// secret is long enough to be masked.
const secret = "correct-horse-battery-staple"

// C15: also secrets that a person pastes.
func TestPastedSecretsAreMasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script.New(script.Fail(&model.Error{Kind: model.ErrAuth, Message: "no", RetryAfter: -1}))
		s := newSession(
			t, newHost(t, "", settle.SessionConfig{Model: model.Config{Provider: m}, Secrets: []string{secret}}), "",
		)
		turn, err := s.Submit(t.Context(), "my key is "+secret+", is it not?")
		if err != nil {
			t.Fatal(err)
		}
		for e := range turn.Events(t.Context()) {
			wantNoSecret(t, e)
		}
	})
}

func wantNoSecret(t *testing.T, e event.Event) {
	t.Helper()
	line, err := e.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(line), secret) {
		t.Errorf("a secret got into %s", line)
	}
}
