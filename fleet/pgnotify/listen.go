// Package pgnotify listens to a channel of Postgres until a context ends, on a
// connection of its own.
//
//	connect ─► LISTEN ─► Begin ─► Payload, Payload, … ─► the connection is lost ─► connect …
//
// Notifications are lost while there is no connection: Begin must read what they announced.
package pgnotify

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// retryDelay is the wait before the next connection.
	retryDelay = 100 * time.Millisecond
	// pingDelay is the time without a notification after which the connection is tested with a ping: a network
	// that was cut reports nothing.
	pingDelay = 10 * time.Second
	// pingTimeout bounds a ping.
	pingTimeout = 5 * time.Second
)

// Listener is a channel and the functions that receive its notifications. One goroutine calls them.
type Listener struct {
	Channel string
	// Begin, if set, is called after each successful LISTEN: the first one, and one after each lost connection.
	Begin func(context.Context)
	// Payload receives the text of a notification.
	Payload func(string)
}

// Listen calls the listener's functions until ctx ends. It connects again when the connection is lost.
func Listen(ctx context.Context, c *pgx.ConnConfig, l Listener) {
	for ctx.Err() == nil {
		listen(ctx, c, l)
		select {
		case <-time.After(retryDelay):
		case <-ctx.Done():
		}
	}
}

// listen listens on one connection, as long as it lasts.
func listen(ctx context.Context, c *pgx.ConnConfig, l Listener) {
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{l.Channel}.Sanitize()); err != nil {
		return
	}
	if l.Begin != nil {
		l.Begin(ctx)
	}
	for ctx.Err() == nil && !conn.IsClosed() {
		silence, cancel := context.WithTimeout(ctx, pingDelay)
		n, err := conn.WaitForNotification(silence)
		cancel()
		switch {
		case err == nil:
			l.Payload(n.Payload)
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
