package rates

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
	"github.com/settle-agent/settle/fleet/pglog"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// place makes a database with limits, and two workers that keep them.
func place(t *testing.T, l Limit) (pool *pgxpool.Pool, workers [2]*Rates) {
	t.Helper()
	pool = server.Pool(t)
	if _, _, err := pglog.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if err := Set(t.Context(), pool, l); err != nil {
		t.Fatal(err)
	}
	for n := range workers {
		var err error
		if workers[n], err = Open(t.Context(), pgtest.Connect(t, pool.Config().ConnString())); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(workers[n].Close)
	}
	return pool, workers
}

// ask has a key ask for requests once.
func ask(t *testing.T, k *Key, n int, u use) (grants int, reserve float64) {
	t.Helper()
	grants, reserve, wait, err := k.ask(n, u)
	if err != nil || grants < n && wait <= 0 {
		t.Fatal(grants, wait, err)
	}
	return grants, reserve
}

// pass has the database believe that so long has passed.
func pass(t *testing.T, pool *pgxpool.Pool, d time.Duration) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), `UPDATE settle_fleet.key SET at = at - $1::interval, held = held - $1::interval`, d); err != nil {
		t.Fatal(err)
	}
}

// TestWorkersShareTheRequestsOfAKey: there are as many as the limit says for all of
// them; another key has its own.
func TestWorkersShareTheRequestsOfAKey(t *testing.T) {
	pool, workers := place(t, Limit{Provider: "p", Requests: 0.01}) // none comes of itself during the test
	var keys [2]*Key
	for n, w := range workers {
		keys[n] = w.Key("p", "a", &model.Limiter{})
	}
	if n, _ := ask(t, keys[0], 5, use{}); n != 1 {
		t.Fatalf("%d at first", n)
	}
	if n, _ := ask(t, keys[1], 5, use{}); n != 0 {
		t.Fatalf("%d after another worker has taken all", n)
	}
	if n, _ := ask(t, workers[1].Key("p", "b", &model.Limiter{}), 5, use{}); n != 1 {
		t.Errorf("%d with another key", n)
	}
	pass(t, pool, 100*time.Minute)
	if n, _ := ask(t, keys[1], 5, use{}); n != 1 {
		t.Errorf("%d after a while", n)
	}
	pass(t, pool, 1000*time.Hour)
	if n, _ := ask(t, keys[0], 5, use{}); n != 1 {
		t.Errorf("%d after a long time: nothing is saved up", n)
	}
}

// TestWorkersShareTheTokensOfAKey: what one has used, all of them owe.
func TestWorkersShareTheTokensOfAKey(t *testing.T) {
	pool, workers := place(t, Limit{Provider: "p", Tokens: 0.06})
	one, two := workers[0].Key("p", "a", &model.Limiter{}), workers[1].Key("p", "a", &model.Limiter{})
	if n, reserve := ask(t, one, 3, use{}); n != 3 || reserve != 0 {
		t.Fatal(n, reserve) // nobody knows what they take
	}
	if n, _ := ask(t, one, 0, use{owed: 300, tokens: 300, responses: 3}); n != 0 {
		t.Fatal(n)
	}
	if n, _ := ask(t, two, 3, use{}); n != 0 {
		t.Errorf("%d are sent with 300 tokens owed", n)
	}
	pass(t, pool, 6000*time.Minute) // 360 tokens, of which a second's worth is kept
	n, reserve := ask(t, two, 3, use{})
	if n != 1 || reserve != 100 {
		t.Errorf("%d are sent, with %g tokens set aside for each", n, reserve)
	}
	if n, _ := ask(t, one, 1, use{}); n != 0 {
		t.Errorf("%d are sent, though tokens are set aside for another", n)
	}
	if n, _ := ask(t, one, 1, use{owed: -100}); n != 1 { // it failed, and took none
		t.Errorf("%d are sent after they were given back", n)
	}
}

// TestAHoldReachesOtherWorkers, also those that were not connected when it was said.
func TestAHoldReachesOtherWorkers(t *testing.T) {
	pool, workers := place(t, Limit{Provider: "p"})
	var limiters [3]*model.Limiter
	for n := range limiters {
		limiters[n] = &model.Limiter{}
	}
	workers[0].Key("p", "a", limiters[0])
	workers[1].Key("p", "a", limiters[1])
	limiters[0].Hold(time.Now().Add(time.Hour))
	awaitHeld(t, limiters[1])
	late, err := Open(t.Context(), pgtest.Connect(t, pool.Config().ConnString()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(late.Close)
	late.Key("p", "a", limiters[2])
	awaitHeld(t, limiters[2])
	if err := Set(t.Context(), pool, Limit{Provider: "p", Requests: 6000}); err != nil {
		t.Fatal(err)
	}
	if n, _ := ask(t, late.Key("p", "a", nil), 1, use{}); n != 0 {
		t.Error("a request may be sent while the key is held")
	}
}

// awaitHeld waits until the limiter holds requests back.
func awaitHeld(t *testing.T, l *model.Limiter) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		at, leave := context.WithTimeout(ctx, time.Millisecond)
		err := l.Wait(at, time.Hour)
		leave()
		if err != nil {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatal("the limiter holds nobody back")
		}
	}
}

// TestEnter waits for its turn, goes when the limit is lifted, and leaves when nobody
// waits any more.
func TestEnter(t *testing.T) {
	pool, workers := place(t, Limit{Provider: "p", Requests: 0.01})
	p := workers[0].Key("p", "a", &model.Limiter{}).Wrap(script.New()).(model.ConcurrencyLimiter)
	leave, err := p.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	leave()
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 2)
	enter := func(ctx context.Context) { // it is waited for
		_, err := p.Enter(ctx)
		ended <- err
	}
	go enter(ctx)
	cancel(stop)
	if err := <-ended; !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	go enter(t.Context())
	if err := Set(t.Context(), pool, Limit{Provider: "p"}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestStreamCounts what responses take.
func TestStreamCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Rates{hasLimits: map[string]bool{"p": true}}
		k := &Key{rates: r, provider: "p", kick: make(chan struct{}, 1)}
		p := k.Wrap(script.New(script.Turn(script.Text("hello"), script.Usage(model.Usage{Input: 30, Output: 5}))))
		for _, err := range p.Stream(t.Context(), model.Request{}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if k.pendingUse != (use{owed: 35, tokens: 35, responses: 1}) {
			t.Errorf("%+v", k.pendingUse)
		}
	})
}

// TestALimitIsANumber of a provider that has a name.
func TestALimitIsANumber(t *testing.T) {
	for _, l := range []Limit{{Requests: 1}, {Provider: "p", Requests: math.NaN()}, {Provider: "p", Tokens: math.Inf(1)}, {Provider: "p", Tokens: -1}} {
		if err := Set(t.Context(), nil, l); err == nil {
			t.Errorf("%+v is taken", l)
		}
	}
}
