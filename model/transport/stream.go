package transport

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/settle-agent/settle/model"
)

// Decoder turns the events of one response into chunks. It needs no signal to stop:
// chunks after the terminal chunk, or after its reader stopped, are discarded.
type Decoder interface {
	// Event decodes one event. The bytes are valid during the call.
	Event(name, data []byte, emit Emit) error
	// EOF is called when the stream ends before a terminal chunk. If the earlier data end a stream
	// in the wire format, it emits the terminal chunk; else it does nothing.
	EOF(emit Emit)
}

// Emit passes a chunk on.
type Emit func(model.Chunk)

// Stream sends r, which cannot be used again, and yields the chunks that dec reads from the
// response. It keeps the promises of [model.Provider.Stream].
func (e *Endpoint) Stream(ctx context.Context, r *Request, dec Decoder) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if ctx.Err() != nil {
			yield(model.Chunk{}, context.Cause(ctx))
			return
		}
		r.Accept = "text/event-stream"
		resp, err := e.do(ctx, r)
		r.Body = nil // or it would stay for as long as the answer streams
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		defer resp.Body.Close()
		s := stream{dec: dec, yield: yield}
		err = s.run(ctx, NewSSEReader(resp.Body, 0))
		switch {
		case s.done:
		case ctx.Err() != nil:
			yield(model.Chunk{}, context.Cause(ctx))
		default:
			yield(model.Chunk{}, withURL(err, publicURL(resp.Request.URL)))
		}
	}
}

// stream is one response being read.
type stream struct {
	dec     Decoder
	yield   func(model.Chunk, error) bool
	emitted bool // the decoder made something of the event
	done    bool // the terminal chunk went out, or the reader stopped
}

func (s *stream) emit(c model.Chunk) {
	s.emitted = true
	if s.done {
		return
	}
	s.done = !s.yield(c, nil) || c.Kind == model.End
}

// run reads until the stream is done or fails.
func (s *stream) run(ctx context.Context, r *SSEReader) error {
	emit := Emit(s.emit) // once, to avoid an allocation for each event
	for !s.done {
		event, err := r.Next()
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, ErrTooLong) {
				s.dec.EOF(emit)
			}
			return readError(err)
		}
		if err := s.event(event, emit); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) event(event ServerSentEvent, emit Emit) error {
	s.emitted = false
	if !event.Comment {
		if err := s.dec.Event(event.Type, event.Data, emit); err != nil {
			return err
		}
	}
	if !s.emitted {
		s.emit(model.Chunk{Kind: model.Ping})
	}
	return nil
}

// readError returns the error of a stream that could not be read to its end.
func readError(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		fault := model.NewError(model.ErrTruncated, "the response ended before it was complete")
		fault.Err = err
		return fault
	case errors.Is(err, ErrTooLong):
		return model.NewError(model.ErrMalformed, "cannot read the response: %w", err)
	}
	return model.NewError(model.ErrConnection, "the connection broke in the middle of the response: %w", err)
}

func withURL(err error, public string) error {
	var fault *model.Error
	if errors.As(err, &fault) && fault.URL == "" {
		fault.URL = public
	}
	return err
}

// Malformed returns the error for an event that is not of the wire format.
func Malformed(format string, args ...any) error {
	return model.NewError(model.ErrMalformed, "cannot read the response: "+format, args...)
}
