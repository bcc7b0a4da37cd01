package journal

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
)

func TestLargeRecord(t *testing.T) {
	want := delta(strings.Repeat("long ", scanBuffer))
	want.V, want.Session, want.Seq = event.Version, "s1", 1
	raw, err := appendRecord(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	raw = append(raw, raw...)
	s := scan(bytes.NewReader(raw), 0, int64(len(raw)), readBuffer)
	for range 2 {
		r, err := s.next()
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.decode()
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "data", want.Data, got.Data)
		diff(t, "class", classDelta, r.class)
	}
	if _, err := s.next(); !errors.Is(err, io.EOF) {
		t.Fatalf("got %v at the end", err)
	}
}

// An error of the disk is not damage: nothing may be cut because of it.
func TestReadErrorIsNotDamage(t *testing.T) {
	raw, starts := written(t)
	broken := errors.New("input/output error")
	r := io.NewSectionReader(readerAt(func(p []byte, off int64) (int, error) {
		if off+int64(len(p)) > int64(starts[2]) {
			return 0, broken
		}
		return bytes.NewReader(raw).ReadAt(p, off)
	}), 0, int64(len(raw)))
	_, err := survey("s1", "s1.log", r, int64(len(raw)))
	var access *AccessError
	if !errors.As(err, &access) || !errors.Is(err, broken) {
		t.Fatalf("got %v, want an AccessError", err)
	}
}

type readerAt func(p []byte, off int64) (int, error)

func (f readerAt) ReadAt(p []byte, off int64) (int, error) { return f(p, off) }

// FuzzRecord: a written record is read unchanged.
func FuzzRecord(f *testing.F) {
	f.Add("text", "t000001")
	f.Add("\xff\n\x00\u2028", "")
	f.Fuzz(func(t *testing.T, text, turn string) {
		text, turn = strings.ToValidUTF8(text, "?"), strings.ToValidUTF8(turn, "?")
		want := event.Event{
			V:       1,
			Session: "s1",
			Seq:     1,
			Turn:    turn,
			Data:    event.ItemDelta{Stream: event.Text, Text: text},
		}
		raw, err := appendRecord(nil, want)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Count(raw, []byte("\n")) != 1 {
			t.Fatalf("a record is not a line: %q", raw)
		}
		r, err := scan(bytes.NewReader(raw), 0, int64(len(raw)), 64).next()
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.decode()
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "event", want, got)
	})
}

// FuzzSurvey: any bytes make a log or are cut, and the rest is a log again.
func FuzzSurvey(f *testing.F) {
	raw, starts := written(f)
	head := len(header(formatVersion))
	f.Add(raw[head:])
	for _, i := range starts[1:] {
		f.Add(raw[head:i])
		f.Add(append(raw[head:i:i], raw[starts[0]:]...))
	}
	f.Add([]byte("00000002 9c2f4d3b - {}\n"))
	f.Add([]byte("ffffffff 00000000 d "))
	f.Fuzz(func(t *testing.T, body []byte) {
		raw := append(header(formatVersion), body...)
		found, err := survey("s1", "s1.log", bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			return // of another version or session
		}
		if (found.end < int64(len(raw))) != (found.damage != nil) {
			t.Fatalf("it ends at %d of %d, with %v", found.end, len(raw), found.damage)
		}
		again, err := survey("s1", "s1.log", bytes.NewReader(raw), found.end)
		if err != nil || again.damage != nil || again.state.Seq != found.state.Seq {
			t.Fatalf("what is left is damaged: %v, %v", err, again.damage)
		}
		if lines := bytes.Count(raw[head:found.end], []byte("\n")); uint64(lines) != found.state.Seq {
			t.Fatalf("%d lines are %d events", lines, found.state.Seq)
		}
	})
}
