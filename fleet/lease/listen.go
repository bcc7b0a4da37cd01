package lease

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// unitChannel is notified when there may be something for workers to do.
	unitChannel = "settle_fleet_unit"
	// relistenDelay is how long to wait before listening again.
	relistenDelay = 200 * time.Millisecond
)

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

func (l *listener) run() {
	for l.life.Err() == nil {
		l.listen()
		select {
		case <-time.After(relistenDelay):
		case <-l.life.Done():
		}
	}
}

// listen listens as long as the connection lasts.
func (l *listener) listen() {
	conn, err := pgx.ConnectConfig(l.life, l.config)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close(context.WithoutCancel(l.life)) }()
	if _, err := conn.Exec(l.life, "LISTEN "+unitChannel); err != nil {
		return
	}
	for {
		if _, err := conn.WaitForNotification(l.life); err != nil {
			return
		}
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}
