package lease

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/settle-agent/settle/fleet/pgnotify"
)

// unitChannel is notified when there may be something for workers to do.
const unitChannel = "settle_fleet_unit"

// listener gives a token when the database says that there is something to do.
// What it misses while its connection is lost, the next heartbeat finds.
type listener struct {
	config *pgx.ConnConfig
	wake   chan struct{} // has room for one token

	once  sync.Once
	life  context.Context //nolint:containedctx // it is the listener's own
	stop  context.CancelFunc
	ended sync.WaitGroup
}

func newListener(c *pgx.ConnConfig) *listener {
	l := &listener{config: c, wake: make(chan struct{}, 1)}
	l.life, l.stop = context.WithCancel(context.Background())
	return l
}

// start begins to listen, once.
func (l *listener) start() <-chan struct{} {
	l.once.Do(func() { l.ended.Go(l.run) })
	return l.wake
}

func (l *listener) close() {
	l.stop()
	l.ended.Wait()
}

// run listens until the listener is closed.
func (l *listener) run() {
	pgnotify.Listen(l.life, l.config, pgnotify.Ear{Channel: unitChannel, Payload: func(string) {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}})
}
