package journal

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/test/longlog"
)

// snapshotOptions have a snapshot written after each turn.
func snapshotOptions(dir string) Options {
	return Options{Dir: dir, Session: "s1", snapshotEvery: 1, snapshotLeast: 1, Wrap: withoutSync}
}

// chunksWritten is the number of chunks in the snapshot of such a session: one for its opening and
// one for each turn.
const chunksWritten = 4

// snapshotted writes a session of three turns, and a fourth that its writer did not
// live to end.
func snapshotted(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for batch := range longlog.Updates(1_000, 2) {
		l, _ := open(t, snapshotOptions(dir))
		if err := l.Update(func(event.State) []event.Event { return batch }); err != nil {
			t.Fatal(err)
		}
		closeLog(t, l)
		if len(chunksOf(t, dir)) == chunksWritten {
			break
		}
	}
	if info, err := os.Stat(snapshotOf(dir)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the snapshot has mode %v (error %v)", info.Mode(), err)
	}
	l, _ := open(t, snapshotOptions(dir))
	e := beginNext(t, l)
	update(t, l, e, e)
	crashed := t.TempDir()
	copySession(t, dir, crashed)
	if err := l.Update(endings(event.Abort(event.Interrupted, "user"))); err != nil {
		t.Fatal(err)
	}
	closeLog(t, l)
	return crashed
}

// copySession copies a log and its snapshot as they are.
func copySession(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(sessionsDir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{logSuffix, snapshotSuffix} {
		raw, err := os.ReadFile(filepath.Join(sessionsDir(from), "s1"+suffix))
		if err == nil {
			err = os.WriteFile(filepath.Join(sessionsDir(to), "s1"+suffix), raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func snapshotOf(dir string) string { return filepath.Join(sessionsDir(dir), "s1"+snapshotSuffix) }

// chunksOf returns where the chunks of the session's snapshot end.
func chunksOf(t *testing.T, dir string) (ends []int) {
	t.Helper()
	raw, err := os.ReadFile(snapshotOf(dir))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	at := len(snapshotHeader())
	r := bytes.NewReader(raw[at:])
	for {
		text, ok := nextChunk(r, int64(len(raw)-at))
		if !ok {
			return ends
		}
		at += chunkHead + len(text)
		ends = append(ends, at)
	}
}

// opensRight checks that the log opens to the state that all its events fold to, regardless of the
// snapshot beside it.
func opensRight(t *testing.T, dir string) {
	t.Helper()
	blocked := isBlocked(dir)
	want := event.State{Session: "s1"}
	for e, err := range Read(t.Context(), dir, "s1", 0) {
		if err == nil {
			want, err = event.Fold(want, e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := Load(dir, "s1")
	if err != nil || !reflect.DeepEqual(asText(t, want), asText(t, loaded)) {
		t.Fatalf("it loads as (error %v)\n%+v\nall events fold to\n%+v", err, loaded, want)
	}
	l, opened := open(t, snapshotOptions(dir))
	if opened.Damage != "" || opened.CutBytes > 0 {
		t.Errorf("opening says of a whole log: %+v", opened)
	}
	l.View(func(s event.State) {
		if !reflect.DeepEqual(want, s) {
			t.Errorf("it opens as\n%+v\nall events fold to\n%+v", asText(t, s), asText(t, want))
		}
	})
	seq := uint64(0)
	for e := range l.Events(t.Context(), max(want.Seq, 20)-20) {
		if seq = e.Seq; seq == want.Seq {
			break
		}
	}
	if err := l.Update(endings(event.Abort(event.Crashed, "host"))); err != nil {
		t.Fatal(err)
	}
	closeLog(t, l)
	if n := len(chunksOf(t, dir)); n == 0 && !blocked {
		t.Error("there is no snapshot afterwards")
	}
	if _, err := Load(dir, "s1"); err != nil {
		t.Error(err)
	}
}

// isBlocked reports whether something is in the snapshot's place that it cannot
// replace at once.
func isBlocked(dir string) bool {
	info, err := os.Lstat(snapshotOf(dir))
	return err == nil && !info.Mode().IsRegular()
}

// asText has the same for states that say the same.
func asText(t *testing.T, s event.State) string {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestSnapshot(t *testing.T) {
	dir := snapshotted(t)
	info, err := os.Stat(snapshotOf(dir))
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Stat(filepath.Join(sessionsDir(dir), "s1"+logSuffix))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > log.Size() {
		t.Errorf("the snapshot has %d bytes; the log has %d", info.Size(), log.Size())
	}
	x, covered := readSnapshot(filepath.Join(sessionsDir(dir), "s1"+logSuffix), mustOpen(t, dir), log.Size())
	if covered.seq < 250 || x.state.Seq != covered.seq || len(x.state.Turns) != 3 || x.state.Running() != nil {
		t.Errorf("the snapshot goes to event %d, with %d turns", covered.seq, len(x.state.Turns))
	}
	opensRight(t, dir)
	if err := Delete(t.Context(), dir, "s1"); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(sessionsDir(dir)); len(left) > 0 {
		t.Errorf("a deleted session leaves %v", left)
	}
}

func mustOpen(t *testing.T, dir string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join(sessionsDir(dir), "s1"+logSuffix))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestSnapshotsThatDoNotFit: a crash, a bad disk, a restored backup or another
// settle may leave anything beside a log.
func TestSnapshotsThatDoNotFit(t *testing.T) {
	whole := snapshotted(t)
	raw, err := os.ReadFile(snapshotOf(whole))
	if err != nil {
		t.Fatal(err)
	}
	ends := chunksOf(t, whole)
	if len(ends) != chunksWritten {
		t.Fatalf("there are %d chunks, want %d", len(ends), chunksWritten)
	}
	cases := map[string]func([]byte) []byte{
		"none":                       func([]byte) []byte { return nil },
		"empty":                      func([]byte) []byte { return []byte{} },
		"zeros":                      func(b []byte) []byte { return make([]byte, len(b)) },
		"of a later version":         func(b []byte) []byte { return append([]byte("settle-snapshot 9 9\n"), b[20:]...) },
		"stale":                      func(b []byte) []byte { return b[:ends[0]] },
		"a chunk is missing":         func(b []byte) []byte { return append(b[:ends[0]:ends[0]], b[ends[1]:]...) },
		"a chunk twice":              func(b []byte) []byte { return append(b[:ends[1]:ends[1]], b[ends[0]:ends[1]]...) },
		"chunks in the wrong order":  func(b []byte) []byte { return slices.Concat(b[:20], b[ends[0]:ends[1]], b[20:ends[0]]) },
		"something behind the end":   func(b []byte) []byte { return append(b, "and more of it, which is no chunk"...) },
		"a length beyond the end":    func(b []byte) []byte { return append(b, 255, 255, 255, 255, 0, 0, 0, 0) },
		"a chunk of nothing at last": func(b []byte) []byte { return append(b, make([]byte, chunkHead)...) },
	}
	for n := 1; n < len(raw); n += 1 + n/40 {
		cases[string(rune('a'+n%26))+" torn"] = func(b []byte) []byte { return b[:n] }
		cases[string(rune('a'+n%26))+" flipped"] = func(b []byte) []byte { b[n] ^= 1; return b }
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			copySession(t, whole, dir)
			if changed := change(slices.Clone(raw)); changed == nil {
				err = os.Remove(snapshotOf(dir))
			} else {
				err = os.WriteFile(snapshotOf(dir), changed, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			opensRight(t, dir)
		})
	}
}

// TestSnapshotsOfAnotherLog: the tie is to the very log, and to a place in it.
func TestSnapshotsOfAnotherLog(t *testing.T) {
	whole, other := snapshotted(t), snapshotted(t) // at other times
	cases := map[string]func(dir string) error{
		"of another log of the name": func(dir string) error {
			raw, err := os.ReadFile(snapshotOf(other))
			if err != nil {
				return err
			}
			return os.WriteFile(snapshotOf(dir), raw, 0o600)
		},
		"a directory": func(dir string) error {
			return os.Mkdir(snapshotOf(dir), 0o700)
		},
		"a link to nowhere": func(dir string) error {
			return os.Symlink(filepath.Join(dir, "nowhere"), snapshotOf(dir))
		},
		"of a log that was cut since": func(dir string) error {
			raw, err := os.ReadFile(snapshotOf(whole))
			if err != nil {
				return err
			}
			path := filepath.Join(sessionsDir(dir), "s1"+logSuffix)
			log, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text, _ := nextChunk(bytes.NewReader(raw[len(snapshotHeader()):]), int64(len(raw)))
			first, _ := parseChunk(text)
			if err := os.WriteFile(path, log[:first.to.off], 0o600); err != nil {
				return err
			}
			return os.WriteFile(snapshotOf(dir), raw, 0o600)
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			copySession(t, whole, dir)
			if err := os.Remove(snapshotOf(dir)); err != nil {
				t.Fatal(err)
			}
			if err := change(dir); err != nil {
				t.Fatal(err)
			}
			opensRight(t, dir)
		})
	}
}

// TestDamageBehindASnapshot: the part of a log that a snapshot spares the opening can be damaged. A
// reader of the part receives an error, and the next opening cuts it, as without a snapshot.
func TestDamageBehindASnapshot(t *testing.T) {
	dir := snapshotted(t)
	path := filepath.Join(sessionsDir(dir), "s1"+logSuffix)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/4] ^= 1
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	l, opened := open(t, snapshotOptions(dir))
	if opened.Damage != "" {
		t.Errorf("opening found %q already", opened.Damage)
	}
	var failed error
	for _, failed = range l.Events(t.Context(), 0) {
		if failed != nil {
			break
		}
	}
	if failed == nil {
		t.Error("nobody is told of the damage")
	}
	if err := l.Update(endings(event.Abort(event.Crashed, "host"))); err != nil {
		t.Fatal(err)
	}
	closeLog(t, l)
	l, opened = open(t, snapshotOptions(dir))
	if opened.Damage == "" || opened.Kept == "" {
		t.Errorf("the next opening says %+v", opened)
	}
	closeLog(t, l)
	opensRight(t, dir)
}

// TestCompactEvents: rare fields of an event are not lost.
func TestCompactEvents(t *testing.T) {
	one, ms := 1, int64(2)
	head := event.Event{V: event.Version, Session: "s1", Turn: "t1", Attempt: "a1", Item: "i1", By: "user"}
	data := []event.Data{
		event.ItemEnded{
			Status: event.ItemCompleted,
			Content: event.Content{
				Type: event.Message, Text: "a", Signature: &event.ProviderSignature{Format: "f", Data: "d"},
			},
		},
		event.ItemEnded{
			Status:  event.ItemAborted,
			Effects: event.EffectsUnknown,
			Cause:   event.Abort(event.Crashed, "host"),
			Content: event.Content{Type: event.ToolCall},
		},
		event.ItemEnded{Status: event.ItemFailed, Content: event.Content{
			Type: event.ToolCall, Output: "o", OutputFile: "f", OutputBytes: 9, ExitCode: &one, Detail: json.RawMessage(`{"a":[1]}`),
			Jobs: []string{"j1"}, Survivors: []event.Process{{PID: 1}},
		}},
		event.AttemptStarted{Step: 1, N: -2, Inputs: []string{"n1"}, Basis: "b"},
		event.AttemptEnded{
			Outcome:   event.Failed,
			Failure:   &event.Failure{Name: "n"},
			RetryIn:   &ms,
			Discarded: []string{"i1"},
			Usage:     event.Usage{Input: -1},
		},
		event.InputAccepted{Input: "n1", Text: "t"},
		event.Unknown{Name: "moon.phase", Raw: json.RawMessage(`{"full":true}`)},
	}
	var w compactWriter
	w.reset(0)
	var want []event.Event
	for n, d := range slices.Concat(data, data) {
		e := head
		e.Seq, e.Data = uint64(2*n+1), d
		e.Volatile = n == len(data)
		raw, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.UnmarshalJSON(raw); err != nil {
			t.Fatal(err)
		}
		if err := w.add(e, raw); err != nil {
			t.Fatal(err)
		}
		want = append(want, e)
	}
	r := compactReader{text: string(w.out)}
	for n := range want {
		e, ok := r.event()
		if !ok || !reflect.DeepEqual(e, want[n]) {
			t.Fatalf("event %d is read as\n%+v\nwant\n%+v", n, e, want[n])
		}
	}
}

// TestSnapshotIsCompact: of a usual session nearly nothing is written as JSON.
func TestSnapshotIsCompact(t *testing.T) {
	var w compactWriter
	w.reset(0)
	all, asJSON := 0, 0
	for e := range longlog.Events("s1", 2_000, longlog.Few) {
		if _, ok := e.Data.(event.ItemDelta); ok {
			continue
		}
		raw, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		start := len(w.out)
		if err := w.add(e, raw); err != nil {
			t.Fatal(err)
		}
		all++
		if w.out[start] == formJSON {
			asJSON++
		}
	}
	if asJSON*10 > all {
		t.Errorf("%d of %d events are JSON", asJSON, all)
	}
}
