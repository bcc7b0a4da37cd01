package executor

import (
	"fmt"
	"io"
	"time"
)

// Client is a host at the other end of a stream, after the handshake.
type Client struct {
	stream io.ReadWriteCloser
	from   *frames
	attach attachRequest
}

// Session is the session that the client works on; empty for a few single calls.
func (g *Client) Session() string { return g.attach.Session }

// Marker is the marker of the session's processes, as in [proc.Spec]. It differs from the host's
// own marker, because both can run on one machine.
func (g *Client) Marker() string {
	if g.attach.Marker == "" {
		return ""
	}
	return g.attach.Marker + "-hands"
}

// AcceptClient answers a host's hello and reads its attach request.
func AcceptClient(stream io.ReadWriteCloser, settle string, m Machine) (*Client, error) {
	timer := time.AfterFunc(handshakeTimeout, func() { _ = stream.Close() }) // ends the reads below
	defer timer.Stop()
	g := &Client{stream: stream, from: newFrames(stream)}
	if _, err := g.from.skipTo(); err != nil {
		return nil, fmt.Errorf("cannot find the beginning: %w", err)
	}
	var h hello
	if err := g.from.expect(frameHello, &h); err != nil {
		return nil, fmt.Errorf("cannot read the hello: %w", err)
	}
	if _, err := io.WriteString(stream, preface); err != nil {
		return nil, err
	}
	if err := send(stream, frameHello, hello{Version: Version, Settle: settle, Machine: &m}); err != nil {
		return nil, err
	}
	if h.Version != Version {
		return nil, fmt.Errorf(
			"cannot work for settle %s, which speaks version %d; this is settle %s with version %d", h.Settle,
			h.Version, settle, Version,
		)
	}
	if err := g.from.expect(frameAttach, &g.attach); err != nil {
		return nil, fmt.Errorf("cannot read the attach request: %w", err)
	}
	return g, nil
}

// Relay connects the client to the executor that already works for its session, until one of the
// streams ends.
func (g *Client) Relay(to io.ReadWriteCloser, settle string) error {
	from, _, err := handshake(to, settle)
	if err == nil {
		err = send(to, frameAttach, g.attach)
	}
	if err != nil {
		_ = to.Close()
		return err
	}
	ended := make(chan error, 2)
	go func() { // ends with g.stream, or to
		_, err := io.Copy(to, g.from.r)
		ended <- err
	}()
	go func() { // ends with to
		_, err := io.Copy(g.stream, from.r)
		ended <- err
	}()
	err = <-ended
	_ = to.Close()
	_ = g.stream.Close()
	return err
}

// handshake sends a hello to the executor at the other end of a stream, and reads its answer.
func handshake(stream io.ReadWriteCloser, settle string) (*frames, Machine, error) {
	timer := time.AfterFunc(handshakeTimeout, func() { _ = stream.Close() }) // ends the reads below
	defer timer.Stop()
	from := newFrames(stream)
	// A program that does not read this explains that before the preface.
	_, _ = io.WriteString(stream, preface)
	_ = send(stream, frameHello, hello{Version: Version, Settle: settle})
	if noise, err := from.skipTo(); err != nil {
		return nil, Machine{}, &noExecutorError{noise: noise, err: err}
	}
	var h hello
	if err := from.expect(frameHello, &h); err != nil {
		return nil, Machine{}, fmt.Errorf("cannot read the hello: %w", err)
	}
	switch {
	case h.Version != Version:
		return nil, Machine{}, &RefusedError{
			Message: fmt.Sprintf(
				"the executor is settle %s with version %d of the protocol; this is settle %s with version %d: use the same settle at both ends",
				h.Settle,
				h.Version,
				settle,
				Version,
			),
		}
	case h.Machine == nil:
		return nil, Machine{}, &RefusedError{Message: "the executor does not describe its machine"}
	}
	return from, *h.Machine, nil
}

// noExecutorError reports that no executor answered, and the text that came instead.
type noExecutorError struct {
	noise string
	err   error
}

func (e *noExecutorError) Error() string {
	if e.noise == "" {
		return fmt.Sprintf("no executor answered: %v", e.err)
	}
	return fmt.Sprintf("no executor answered: %v, after %q", e.err, e.noise[:min(len(e.noise), 500)])
}

func (e *noExecutorError) Unwrap() error { return e.err }
