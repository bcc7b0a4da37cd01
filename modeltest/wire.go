package modeltest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// wire writes a stream of server-sent events, framed as the faults ask.
type wire struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	ctx  context.Context // ends when the client is gone
	stop <-chan struct{} // closed when the server closes

	eol     string        // end of a line
	unnamed bool          // no event: lines
	drip    bool          // byte by byte
	pause   time.Duration // between dripped bytes
	buf     []byte
}

// How an exchange ends before everything is sent.
var (
	errFault  = errors.New("a fault ended the response")
	errClient = errors.New("the client is gone")
	errStop   = errors.New("the server is closing")
)

// header sends the status line and headers.
func (w *wire) header(status int, contentType string) error {
	h := w.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache")
	w.w.WriteHeader(status)
	return w.flush()
}

// frame sends one event.
func (w *wire) frame(f frame) error {
	b := w.buf[:0]
	if f.event != "" && !w.unnamed {
		b = append(append(append(b, "event: "...), f.event...), w.eol...)
	}
	b = append(append(append(b, "data: "...), f.data...), w.eol...)
	b = append(b, w.eol...)
	w.buf = b
	if f.raw != nil {
		b = f.raw
	}
	if f.burst && !w.drip {
		return w.write(b)
	}
	return w.send(b)
}

// comment sends a line that means nothing.
func (w *wire) comment(s string) error { return w.send([]byte(": " + s + w.eol + w.eol)) }

// oversized sends an event of n bytes, a piece at a time.
func (w *wire) oversized(n int64) error {
	head, tail := `data: {"type":"response.output_text.delta","delta":"`, `"}`+w.eol+w.eol
	if err := w.write([]byte(head)); err != nil {
		return err
	}
	piece := make([]byte, 32<<10)
	for i := range piece {
		piece[i] = 'x'
	}
	for left := n - int64(len(head)+len(tail)); left > 0; left -= int64(len(piece)) {
		if err := w.write(piece[:min(left, int64(len(piece)))]); err != nil {
			return err
		}
	}
	return w.send([]byte(tail))
}

// send writes b and makes it leave at once.
func (w *wire) send(b []byte) error {
	if !w.drip {
		if err := w.write(b); err != nil {
			return err
		}
		return w.flush()
	}
	for i := range b {
		if err := errors.Join(w.write(b[i:i+1]), w.flush()); err != nil {
			return err
		}
		if w.pause > 0 {
			if err := w.wait(w.pause, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *wire) write(b []byte) error {
	if err := w.disconnected(); err != nil {
		return err
	}
	if _, err := w.w.Write(b); err != nil {
		return w.lost()
	}
	return nil
}

func (w *wire) flush() error {
	if err := w.rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return w.lost()
	}
	return nil
}

// disconnected returns an error if the client has disconnected.
func (w *wire) disconnected() error {
	select {
	case <-w.stop:
		return errStop
	default:
	}
	if w.ctx.Err() != nil {
		return errClient
	}
	return nil
}

// lost returns the reason why a write failed.
func (w *wire) lost() error {
	if err := w.disconnected(); err != nil {
		return err
	}
	return errClient
}

// wait waits for d, or until the channel is closed if there is one, or for
// ever if d is 0; never longer than client and server are there.
func (w *wire) wait(d time.Duration, until <-chan struct{}) error {
	var due <-chan time.Time
	if d > 0 && until == nil {
		timer := time.NewTimer(d)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-w.stop:
		return errStop
	case <-w.ctx.Done():
		return w.lost()
	case <-due:
	case <-until:
	}
	return nil
}

// cut closes the connection at once; with a reset, if kind asks for it.
func (w *wire) cut(kind FaultKind) {
	conn, _, err := w.rc.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the closest behaviour where the connection is not available
	}
	if kind == FaultReset {
		switch c := conn.(type) {
		case *net.TCPConn:
			_ = c.SetLinger(0) // close then sends a reset
		case interface{ Reset() error }:
			_ = c.Reset()
		}
	}
	_ = conn.Close()
}
