package attach

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"

	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/internal/scope"
)

// Serve serves an attached client of the session until the client disconnects, ctx ends, or, for
// a client that follows the events, the session is closed. It is the Attach of a
// [settle.Config].
func Serve(ctx context.Context, s *settle.Session, line json.RawMessage, conn net.Conn) {
	var r request
	if json.Unmarshal(line, &r) != nil {
		return
	}
	host, now, err := sendHello(s, conn)
	if err != nil {
		return
	}
	if r.Follow == nil {
		serveCalls(ctx, conn, &handler{session: s})
		return
	}
	f := &follower{session: s, host: host, conn: conn, settings: now}
	f.follow(ctx, *r.Follow)
}

// sendHello sends the host's first line.
func sendHello(s *settle.Session, conn net.Conn) (host event.SessionOpened, now Settings, err error) {
	s.View(func(st event.State) { host = st.Host })
	now = settingsOf(s, host)
	hello, err := jsonrpc.Append(nil, answer{Host: &Host{os.Getpid(), host.Frontend, host.Settle}, Settings: now})
	if err == nil { // no text has the number of an error
		_, err = conn.Write(hello)
	}
	return host, now, err
}

// settingsOf returns the settings of the session's next turn.
func settingsOf(s *settle.Session, host event.SessionOpened) Settings {
	m := s.Model()
	settings := Settings{
		Model:  m.ProviderName + "/" + m.Name,
		Window: m.Window,
		Effort: m.Effort,
		Mode:   string(host.Permission),
	}
	if o, ok := s.Value().(*assemble.Opened); ok {
		settings.Mode = o.Agent.Mode()
		if policy := o.Agent.Policy(); policy != nil {
			settings.Work = policy.Work().Name
		}
	}
	return settings
}

// follower sends the events of a session, and changes of its settings, to an attached client.
type follower struct {
	session *settle.Session
	host    event.SessionOpened
	conn    net.Conn

	mu       sync.Mutex // guards the fields below, and keeps the lines on conn whole
	settings Settings   // as last sent
	buf      []byte
}

// crowd is the number of buffered bytes of old events after which they are sent.
const crowd = 32 << 10

// follow sends the events after the cursor, and then new ones. A slow client delays only itself
// (C17).
func (f *follower) follow(ctx context.Context, after uint64) {
	ctx, cancel := context.WithCancel(ctx)
	reader := make(chan struct{})
	go func() { // ends with the connection, which is closed below
		defer close(reader)
		defer cancel()
		_, _ = io.Copy(io.Discard, f.conn) // the end of the connection
	}()
	watcher := make(chan struct{})
	// Ends with ctx; the function below waits for it.
	go scope.Shield(func(error) { _ = f.conn.Close() }, func() {
		defer close(watcher)
		f.watch(ctx)
	})()
	defer func() {
		_ = f.conn.Close()
		<-reader
		cancel()
		<-watcher
	}()
	var last uint64
	f.session.View(func(st event.State) { last = st.Seq })
	for e, err := range f.session.Events(ctx, after) {
		if err != nil || f.send(e, last) != nil {
			return // the client reads the log itself
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.flush()
}

// watch sends the settings when the host changes the permission mode, also if no event follows: a
// client that shows an old mode could send a prompt for another one.
func (f *follower) watch(ctx context.Context) {
	o, ok := f.session.Value().(*assemble.Opened)
	if !ok || o.Agent.Policy() == nil {
		return
	}
	for {
		changed := o.Agent.Policy().Changed()
		if err := f.sendSettings(); err != nil {
			return // the reader sees the end of the connection
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// sendSettings sends the settings if they have changed.
func (f *follower) sendSettings() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.appendSettings(); err != nil || len(f.buf) == 0 {
		return err
	}
	return f.flush()
}

// appendSettings adds the settings to the buffer if they have changed. The caller holds mu.
func (f *follower) appendSettings() (err error) {
	if now := settingsOf(f.session, f.host); now != f.settings {
		f.settings = now
		f.buf, err = jsonrpc.Append(f.buf, change{&now})
	}
	return err
}

// send sends an event; events up to last are sent together.
func (f *follower) send(e event.Event, last uint64) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.appendSettings(); err != nil {
		return err
	}
	if f.buf, err = e.AppendJSON(f.buf); err != nil {
		return err
	}
	if f.buf = append(f.buf, '\n'); e.Seq < last && len(f.buf) < crowd {
		return nil
	}
	return f.flush()
}

// flush writes the buffer. The caller holds mu.
func (f *follower) flush() error {
	_, err := f.conn.Write(f.buf)
	if f.buf = f.buf[:0]; cap(f.buf) > 2*crowd {
		f.buf = nil
	}
	return err
}

// serveCalls answers a client's calls until it disconnects.
func serveCalls(ctx context.Context, conn net.Conn, h *handler) {
	c := jsonrpc.New(jsonrpc.Options{In: conn, Out: conn, Handler: h, MaxFrame: maxMessage, MaxInFlight: maxInFlight})
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	c.Start(ctx)
	<-c.Ended() // at the end of the connection, or of ctx
	leave()     // no answers are needed any more
	_ = conn.Close()
	<-c.Done()
	h.calls.Wait()
}

// parse parses a line of the stream: an event or new settings.
func parse(line []byte) (e event.Event, settings *Settings, err error) {
	if bytes.HasPrefix(line, []byte(changePrefix)) {
		var c change
		err = json.Unmarshal(line, &c)
		return event.Event{}, c.Settings, err
	}
	err = e.UnmarshalJSON(line)
	return e, nil, err
}
