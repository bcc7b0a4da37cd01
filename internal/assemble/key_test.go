package assemble

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/transport"
)

// The command runs once for all refused requests after a key has expired, and its output is
// masked for all of them.
func TestExpiredKeyIsFetchedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		k := newKey("the-first-key-of-all", func(context.Context) (string, error) {
			<-time.After(time.Second)
			runs++
			return fmt.Sprintf("another-key-number-%d", runs), nil
		})
		one, two := redact.New(), redact.New()
		k.masked(one)
		k.masked(two)
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if renewed, err := k.renew(t.Context(), "the-first-key-of-all"); !renewed || err != nil {
					t.Errorf("%t, %v", renewed, err)
				}
			})
		}
		all.Wait()
		if runs != 1 {
			t.Errorf("the command ran %d times", runs)
		}
		for _, r := range []*redact.Redactor{one, two} {
			if got := r.String("the-first-key-of-all another-key-number-1"); strings.Contains(got, "key") {
				t.Errorf("masked as %q", got)
			}
		}
		if renewed, err := k.renew(t.Context(), "another-key-number-1"); !renewed || err != nil || runs != 2 {
			t.Errorf("the next expiry: %t, %v after %d runs", renewed, err, runs)
		}
	})
}

// A command that prints the same key does not run again for each session, and a failing one
// reports why. A waiting session can be cancelled.
func TestKeyThatStaysRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs, failed := 0, error(nil)
		k := newKey("a-key-that-is-refused", func(context.Context) (string, error) {
			runs++
			return "a-key-that-is-refused", failed
		})
		for range 3 {
			if renewed, err := k.renew(t.Context(), "a-key-that-is-refused"); renewed || err != nil {
				t.Errorf("%t, %v", renewed, err)
			}
		}
		if runs != 1 {
			t.Errorf("the command ran %d times", runs)
		}
		time.Sleep(2 * renewDelay)
		failed = errors.New("vault is sealed")
		if renewed, err := k.renew(t.Context(), "a-key-that-is-refused"); renewed || !errors.Is(err, failed) {
			t.Errorf("%t, %v", renewed, err)
		}
		<-k.token
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := k.renew(ctx, "a-key-that-is-refused"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		k.token <- struct{}{}
	})
}

// Sessions that get their keys from one command share an account, for any number of keys.
func TestSharedIsByCommand(t *testing.T) {
	var s Shared
	c := config.Choice{Provider: config.Provider{Name: "p", KeyCommand: []string{"pass"}}, Model: "m"}
	fetch := func(context.Context) (string, error) { return "", nil }
	first := s.account(c, newKey("one", fetch))
	if second := s.account(c, newKey("two", fetch)); first != second || second.key.value != "two" {
		t.Errorf("the account has key %q", second.key.value)
	}
}

// A request that is refused for its key is repeated with the next key, and the redactor has
// the key before the request.
func TestRequestsRenewTheKey(t *testing.T) {
	var refused atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer the-second-key" {
			refused.Add(1)
			http.Error(w, `{"error":{"message":"expired"}}`, http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	defer server.Close()
	k := newKey("the-first-key", func(context.Context) (string, error) { return "the-second-key", nil })
	p := chat.New(chat.Options{Endpoint: transport.Endpoint{
		BaseURL: server.URL, Key: k.get, Renew: k.renew,
		Client: server.Client(),
	}})
	var carried []string
	attempt := func() (err error) {
		for _, e := range p.Stream(t.Context(),
			model.Request{Model: "m", Secret: func(key string) { carried = append(carried, key) }}) {
			err = e
		}
		return err
	}
	var fault *model.Error
	if err := attempt(); !errors.As(err, &fault) || !fault.Renewed || fault.Kind != model.ErrAuth {
		t.Errorf("got %v", err)
	}
	_ = attempt() // this test ignores the empty response
	if refused.Load() != 1 || strings.Join(carried, " ") != "the-first-key the-second-key" {
		t.Errorf("%d were refused; carried %q", refused.Load(), carried)
	}
}

// AWS credentials are renewed before they expire; if the command fails, the old ones are used.
func TestCredentialsAreRenewedBeforeExpiration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs, failed := 0, error(nil)
		next := func() string {
			return fmt.Sprintf(`{"AccessKeyId": "A%d", "SecretAccessKey": "s", "Expiration": %q}`, runs,
				time.Now().Add(time.Hour).Format(time.RFC3339))
		}
		k := newKey(next(), func(context.Context) (string, error) {
			runs++
			return next(), failed
		})
		check := func(when string, want int) {
			t.Helper()
			if got, err := k.get(t.Context()); err != nil || !strings.Contains(got, fmt.Sprintf(`"A%d"`, want)) {
				t.Errorf("%s: %s, %v", when, got, err)
			}
		}
		check("at first", 0)
		<-time.After(time.Hour - expiryGrace)
		check("before the end", 1)
		check("later", 1)
		failed = errors.New("no network")
		<-time.After(time.Hour)
		check("without new ones", 1)
		failed = nil
		check("with new ones", 3)
		stays := newKey("a-key-without-an-end", func(context.Context) (string, error) { return "another", nil })
		if got, err := stays.get(t.Context()); got != "a-key-without-an-end" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}
