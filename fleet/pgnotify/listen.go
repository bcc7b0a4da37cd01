// Package pgnotify listens to a channel of Postgres for as long as it is to, on a
// connection of its own.
//
//	connect ─► LISTEN ─► Begin ─► Payload, Payload, … ─► the connection is lost ─► connect …
//
// What is notified while there is no connection is lost: Begin is where to look for it.
package pgnotify

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// retryDelay is how long to wait before listening again.
	retryDelay = 100 * time.Millisecond
	// pingDelay is how long the connection may be silent before it is tried: a network
	// that was cut says nothing.
	pingDelay = 10 * time.Second
	// pingTimeout bounds the trial.
	pingTimeout = 5 * time.Second
)

// Ear is what hears. Its functions are called by one goroutine.
type Ear struct {
	Channel string
	// Begin is called when the listening has begun, also again; nil is none.
	Begin   func(context.Context)
	Payload func(string)
}

// Listen listens until ctx ends.
func Listen(ctx context.Context, c *pgx.ConnConfig, e Ear) {
	for ctx.Err() == nil {
		listen(ctx, c, e)
		select {
		case <-time.After(retryDelay):
		case <-ctx.Done():
		}
	}
}

// listen listens on one connection, as long as it lasts.
func listen(ctx context.Context, c *pgx.ConnConfig, e Ear) {
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{e.Channel}.Sanitize()); err != nil {
		return
	}
	if e.Begin != nil {
		e.Begin(ctx)
	}
	for ctx.Err() == nil && !conn.IsClosed() {
		silence, cancel := context.WithTimeout(ctx, pingDelay)
		n, err := conn.WaitForNotification(silence)
		cancel()
		switch {
		case err == nil:
			e.Payload(n.Payload)
		case silence.Err() == nil || ctx.Err() != nil:
			return
		default:
			ping, cancel := context.WithTimeout(ctx, pingTimeout)
			err := conn.Ping(ping)
			cancel()
			if err != nil {
				return
			}
		}
	}
}
