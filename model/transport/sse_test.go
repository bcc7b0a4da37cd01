package transport_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/model/transport"
)

type event struct {
	Comment    bool
	Type, Data string
}

func readAll(r *transport.SSEReader) (events []event, err error) {
	for {
		e, err := r.Next()
		if err != nil {
			return events, err
		}
		events = append(events, event{e.Comment, string(e.Type), string(e.Data)})
	}
}

func TestNext(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []event
	}{
		{"empty", "", nil},
		{"one", "data: a\n\n", []event{{Data: "a"}}},
		{"no space, two spaces", "data:a\n\ndata:  a\n\n", []event{{Data: "a"}, {Data: " a"}}},
		{"type", "event: x\ndata: a\n\ndata: b\n\n", []event{{Type: "x", Data: "a"}, {Data: "b"}}},
		{"type after data", "data: a\nevent: x\n\n", []event{{Type: "x", Data: "a"}}},
		{"several lines", "data: a\ndata\ndata: b\n\n", []event{{Data: "a\n\nb"}}},
		{"empty data is an event", "data\n\n", []event{{}}},
		{"no data is none", "event: x\n\nid: 3\n\ndata: a\n\n", []event{{Data: "a"}}},
		{"CRLF", "event: x\r\ndata: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", []event{{Type: "x", Data: "a\nb"}, {Data: "c"}}},
		{"CR", "data: a\rdata: b\r\rdata: c\r\r", []event{{Data: "a\nb"}, {Data: "c"}}},
		{"mixed endings", "data: a\r\ndata: b\r\n\ndata: c\n\r\n", []event{{Data: "a\nb"}, {Data: "c"}}},
		{"byte order mark", "\xef\xbb\xbfdata: a\n\n", []event{{Data: "a"}}},
		{"half a byte order mark", "\xef\xbb", nil},
		{"comments", ": hi\n\ndata: a\n:\ndata: b\n\n", []event{{Comment: true, Data: "hi"}, {Comment: true}, {Data: "a\nb"}}},
		{"unknown fields", "foo: x\ndata: a\nbar\n\n", []event{{Data: "a"}}},
		{"unfinished event", "data: a\n\ndata: b\n", []event{{Data: "a"}}},
		{"unfinished line", "data: a\n\ndata: b", []event{{Data: "a"}}},
		{"colons", "data: {\"a\":1}\n\n", []event{{Data: `{"a":1}`}}},
		{"long", "data: a\n\ndata: " + strings.Repeat("x", 20_000) + "\ndata: y\n\n", []event{{Data: "a"}, {Data: strings.Repeat("x", 20_000) + "\ny"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, src := range map[string]io.Reader{
				"whole": strings.NewReader(tt.in), "bytes": iotest.OneByteReader(strings.NewReader(tt.in)),
				"data and error": iotest.DataErrReader(strings.NewReader(tt.in)),
			} {
				got, err := readAll(transport.NewSSEReader(src, 0))
				if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, io.EOF) {
					t.Errorf("%s: error %v (-want +got):\n%s", name, err, diff)
				}
			}
		})
	}
}

// Fields that no provider needs, valid or not, are ignored.
func TestSSEReaderIgnoresIDAndRetry(t *testing.T) {
	got, err := readAll(transport.NewSSEReader(
		strings.NewReader("id: 7\nretry: 1500\ndata: a\n\nid: a\x00b\nretry: soon\ndata: b\n\n"), 0,
	))
	if !errors.Is(err, io.EOF) || len(got) != 2 {
		t.Errorf("got %d events, %v", len(got), err)
	}
}

// idle is a source that returns at once with nothing, for ever.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestSourceWithoutProgress(t *testing.T) {
	if _, err := transport.NewSSEReader(idle{}, 0).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v", err)
	}
}

func TestErrorsPass(t *testing.T) {
	reset := errors.New("reset")
	got, err := readAll(
		transport.NewSSEReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(reset)), 0),
	)
	if len(got) != 1 || !errors.Is(err, reset) {
		t.Errorf("%d events, error %v", len(got), err)
	}
}

// endless is a line without an end.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	e.n += len(p)
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestLimit(t *testing.T) {
	line := "data: " + strings.Repeat("x", 90) + "\n\n"
	if got, err := readAll(transport.NewSSEReader(strings.NewReader(line+line), 100)); len(got) != 2 ||
		!errors.Is(err, io.EOF) {
		t.Errorf("events within the limit: %d, error %v", len(got), err)
	}
	for _, in := range []string{
		"data: " + strings.Repeat("x", 200) + "\n\n",
		strings.Repeat("data: x\n", 200) + "\n",
	} {
		if got, err := readAll(transport.NewSSEReader(strings.NewReader(in), 100)); len(got) != 0 ||
			!errors.Is(err, transport.ErrTooLong) {
			t.Errorf("%d events, error %v, want ErrTooLong", len(got), err)
		}
	}
}

func TestOversizedLineIsBounded(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	src := &endless{}
	_, err := readAll(transport.NewSSEReader(src, 0))
	runtime.ReadMemStats(&after)
	if !errors.Is(err, transport.ErrTooLong) || src.n > transport.DefaultLimit {
		t.Errorf("error %v after %d bytes", err, src.n)
	}
	// Doubling: all buffers together are less than twice the last.
	if got := after.TotalAlloc - before.TotalAlloc; got > 2*transport.DefaultLimit+1<<20 {
		t.Errorf("allocated %d bytes", got)
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("event: x\ndata: a\r\ndata: b\r\r: c\n\n"), 3)
	f.Add([]byte("\xef\xbb\xbfdata\n\n"), 1)
	f.Fuzz(func(t *testing.T, in []byte, step int) {
		want, _ := readAll(transport.NewSSEReader(bytes.NewReader(in), 0))
		got, err := readAll(transport.NewSSEReader(&stepper{in, max(step%17, 1)}, 0))
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, io.EOF) {
			t.Errorf("in steps: error %v (-whole +steps):\n%s", err, diff)
		}
	})
}

// stepper gives a few bytes at a time.
type stepper struct {
	rest []byte
	step int
}

func (s *stepper) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.step)], s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func BenchmarkNext(b *testing.B) {
	one := []byte(
		"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\" word\",\"output_index\":0}\n\n",
	)
	src := bytes.NewReader(bytes.Repeat(one, 1000))
	r := transport.NewSSEReader(src, 0)
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			if _, err := src.Seek(0, io.SeekStart); err != nil {
				b.Fatal(err)
			}
			r = transport.NewSSEReader(src, 0)
		}
	}
}
