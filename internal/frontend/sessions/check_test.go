package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"

	"github.com/settle-agent/settle/internal/disk"
)

const secret = "sk-a-secret-of-this-test"

// good is a session with a turn that a person interrupted in a call.
func good() []event.Event {
	turn := func(item string, d event.Data) event.Event {
		return event.Event{Turn: "t1", Attempt: "a1", Item: item, Data: d}
	}
	cut := &event.Cause{Outcome: event.Aborted, Reason: event.Interrupted, By: "user"}
	return []event.Event{
		{Data: event.SessionOpened{Dir: "/work", Frontend: "run", PID: 1 << 30}},
		{Data: event.InputAccepted{Input: "n1", Text: "go"}},
		{Turn: "t1", Data: event.TurnStarted{Inputs: []string{"n1"}}},
		{Turn: "t1", Attempt: "a1", Data: event.AttemptStarted{Step: 1, N: 1}},
		turn("i1", event.ItemStarted{Type: event.ToolCall, Name: "shell", CallID: "c1"}),
		turn("i1", event.CallReady{Name: "shell", CallID: "c1", Arguments: "{}"}),
		turn("i1", event.CallStarted{}),
		{Turn: "t1", Attempt: "a1", Data: event.AttemptEnded{Outcome: event.Completed}},
		turn(
			"i1",
			event.ItemEnded{
				Status: event.ItemAborted, Effects: event.EffectsPartial, Cause: cut,
				Content: event.Content{Type: event.ToolCall, Name: "shell", CallID: "c1", Arguments: "{}"},
			},
		),
		{
			Turn: "t1",
			Data: event.TurnAborted{Reason: event.Interrupted, Summary: event.Summary{Steps: 1, Attempts: 1, Calls: 1}},
		},
		{Data: event.SessionClosed{}},
	}
}

// put writes the events as the log of a session, whatever they say: each is a
// whole record, as internal/journal describes them.
func put(t *testing.T, dir, session string, events []event.Event) {
	t.Helper()
	sum := func(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
	first := []byte("settle-log 1 ")
	log := fmt.Appendf(first, "%08x\n", sum(first))
	for i, e := range events {
		e.V, e.Session, e.Seq, e.At = event.Version, session, uint64(i+1), time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)
		raw, err := e.AppendJSON([]byte("- "))
		if err != nil {
			t.Fatal(err)
		}
		log = fmt.Appendf(log, "%08x %08x %s\n", len(raw)-2, sum(raw), raw)
	}
	path := filepath.Join(dir, "sessions", session+".log")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, log, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// without leaves an event out.
func without(events []event.Event, n int) []event.Event {
	return append(append([]event.Event{}, events[:n]...), events[n+1:]...)
}

func TestCheck(t *testing.T) {
	said := good()
	said[1].Data = event.InputAccepted{Input: "n1", Text: "my key is " + secret}
	running := good()
	running[0].Data = event.SessionOpened{PID: os.Getpid()}
	tests := []struct {
		name   string
		events []event.Event
		want   []string // pieces of the lines, in order
		broken bool
	}{
		{"kept", good(), []string{"s: 11 events, 1 turns: no violations\n"}, false},
		{"empty", nil, []string{"s: 0 events, 0 turns: no violations\n"}, false},
		{
			"no ending of the call", without(good(), 8),
			[]string{"1 turns: violations: 1\n", "  C2: event 9 (turn.aborted): item i1 of turn t1 is open\n"},
			true,
		},
		{
			"no terminal event", without(good(), 9),
			[]string{"violations: ", "  C2: event 10 (session.closed): turn t1 is running\n"},
			true,
		},
		{
			"a call that never was durable", without(good(), 6),
			[]string{"violations: 2\n", "  C5: event 8 (item.ended)", "  C14: event 9 (turn.aborted): its summary"},
			true,
		},
		{"a secret", said, []string{"  C15: event 2 (input.accepted): it contains a secret of 24 characters\n"}, true},
		{
			"a turn that was left", good()[:7],
			[]string{"s: 7 events, 1 turns: no violations\n", "  a turn has not ended"},
			false,
		},
		{
			"a turn that goes on", running[:7],
			[]string{
				"s: 7 events, 1 turns: no violations\n",
				fmt.Sprintf("  a turn is running in pid %d\n", os.Getpid()),
			},
			false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "s", tt.events)
			if tt.name == "a turn that goes on" {
				log, err := os.OpenFile(filepath.Join(dir, "sessions", "s.log"), os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer log.Close()
				if free, err := disk.TryLock(log); err != nil || !free {
					t.Fatal(free, err)
				}
			}
			var out bytes.Buffer
			err := Inspection{
				DataDir:  dir,
				Sessions: []string{"s"},
				Secrets:  []string{secret, "short"},
			}.Check(
				t.Context(),
				&out,
			)
			if (err != nil) != tt.broken {
				t.Errorf("the error is %v", err)
			}
			rest := out.String()
			for _, want := range tt.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("it does not say %q, or not in this order:\n%s", want, &out)
				}
				rest = after
			}
			if strings.Contains(out.String(), secret) {
				t.Errorf("it tells the secret:\n%s", &out)
			}
		})
	}
}

// A record that was changed on the disk is distinguished from a broken clause, and the events
// before it are checked.
func TestCheckOfADamagedLog(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "s", without(good(), 8))
	path := filepath.Join(dir, "sessions", "s.log")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-5] ^= 1 // in session.closed
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = Inspection{DataDir: dir, Sessions: []string{"s"}}.Check(t.Context(), &out)
	if err == nil || err.Error() != "1 of 1 sessions violate the contract" {
		t.Errorf("the error is %v", err)
	}
	for _, want := range []string{
		"s: 9 events", "  C2: event 9", "  the log is damaged at offset ", "a record's checksum differs",
		"saves the rest next to it",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &out)
		}
	}
	// A tail that a dead writer left is no damage.
	put(t, dir, "torn", good())
	path = filepath.Join(dir, "sessions", "torn.log")
	if raw, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw[:len(raw)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := (Inspection{DataDir: dir, Sessions: []string{"torn"}}).Check(t.Context(), &out); err != nil {
		t.Errorf("a torn tail: %v\n%s", err, &out)
	}
}

func TestCheckAsJSON(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a", good())
	put(t, dir, "b", without(good(), 8))
	put(t, dir, "c", good()[:7])
	var out bytes.Buffer
	err := Inspection{DataDir: dir, JSON: true}.Check(t.Context(), &out)
	if err == nil || err.Error() != "1 of 3 sessions violate the contract" {
		t.Errorf("the error is %v", err)
	}
	var got []finding
	for line := range bytes.Lines(out.Bytes()) {
		var f finding
		if err := json.Unmarshal(line, &f); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		got = append(got, f)
	}
	want := []finding{
		{Session: "a", Events: 11, Turns: 1},
		{
			Session: "b", Events: 10, Turns: 1,
			Violations: []violation{
				{Clause: "C2", Seq: 9, Kind: event.KindTurnAborted, What: "item i1 of turn t1 is open"},
			},
		},
		{Session: "c", Events: 7, Turns: 1, Open: true},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(finding{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCheckOfNothing(t *testing.T) {
	var out bytes.Buffer
	if err := (Inspection{DataDir: t.TempDir()}).Check(t.Context(), &out); err != nil || out.Len() > 0 {
		t.Errorf("no sessions: %v, %q", err, &out)
	}
	if err := (Inspection{
		DataDir: filepath.Join(t.TempDir(), "none"),
	}).Check(t.Context(), &out); err == nil || out.Len() > 0 {
		t.Errorf("no data directory: %v, %q", err, &out)
	}
	err := Inspection{DataDir: t.TempDir(), Sessions: []string{"nope"}}.Check(t.Context(), &out)
	if err == nil || !strings.Contains(out.String(), "there is no session \"nope\"") {
		t.Errorf("no such session: %v, %q", err, &out)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	dir := t.TempDir()
	put(t, dir, "s", good())
	if err := (Inspection{DataDir: dir}).Check(ctx, &out); !errors.Is(err, stop) {
		t.Errorf("cancelled: %v", err)
	}
}
