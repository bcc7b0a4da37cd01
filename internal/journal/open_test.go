package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
)

func TestReopen(t *testing.T) {
	raw, starts := written(t)
	dir := place(t, raw)
	l, opened := open(t, Options{Dir: dir, MustExist: true})
	path, _ := logPath(dir, "s1")
	diff(t, "opened", Opened{Path: path, Existing: true}, opened)
	l.View(func(s event.State) {
		diff(t, "seq", uint64(len(starts)), s.Seq)
		diff(t, "text of the open item", "three", s.Running().Item("i000002").Content().Text)
	})
	// Passing over deltas makes no difference.
	want := stateOf(t, l)
	l.View(func(s event.State) {
		if !reflect.DeepEqual(want, s) {
			t.Errorf("opening folded to\n%+v\nall events fold to\n%+v", s, want)
		}
	})
	if err := l.Update(endings(event.Abort(event.Crashed, "host"))); err != nil {
		t.Fatal(err)
	}
	closeLog(t, l)
	seq := uint64(0)
	for e, err := range Read(t.Context(), dir, "s1", 3) {
		if err != nil {
			t.Fatal(err)
		}
		if seq = e.Seq; seq == 4 {
			diff(t, "kind", event.KindAttemptStarted, e.Kind())
		}
	}
	if seq <= uint64(len(starts)) {
		t.Fatalf("Read ended at event %d", seq)
	}
}

func TestFileIsPrivateAndGreppable(t *testing.T) {
	dir := t.TempDir()
	l, opened := open(t, Options{Dir: dir})
	update(t, l, event.Event{Data: event.SessionOpened{Dir: "/work"}})
	closeLog(t, l)
	for path, want := range map[string]os.FileMode{opened.Path: 0o600, filepath.Dir(opened.Path): 0o700} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode().Perm(), want)
		}
	}
	raw, err := os.ReadFile(opened.Path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	if len(lines) != 2 || lines[0] != "settle-log 1 7bfa0deb" ||
		!strings.Contains(lines[1], ` - {"v":1,"session":"s1","seq":1,`) {
		t.Fatalf("the file is\n%s", raw)
	}
}

// checkRepaired opens a damaged log of which only n records are good, and
// checks that nothing is lost, and that it works again.
func checkRepaired(t *testing.T, dir string, raw []byte, n, end int) {
	t.Helper()
	put(t, dir, raw)
	l, opened, err := Open(t.Context(), Options{Dir: dir, Session: "s1", Wrap: withoutSync})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close(context.Background()) }()
	if got := l.Seq(); got != uint64(n) {
		t.Fatalf("%d events are left, want %d (%+v)", got, n, opened)
	}
	rest := raw[min(end, len(raw)):]
	if opened.CutBytes != int64(len(rest)) || (opened.Damage == "") != (len(rest) == 0) {
		t.Fatalf("opened %+v, want %d bytes cut", opened, len(rest))
	}
	if allZero(rest) != (opened.Kept == "") {
		t.Fatalf("kept %q", opened.Kept)
	}
	if opened.Kept != "" {
		kept, err := os.ReadFile(opened.Kept)
		if err != nil || !bytes.Equal(kept, rest) {
			t.Fatalf("kept %q, %v; want %q", kept, err, rest)
		}
		if err := os.Remove(opened.Kept); err != nil {
			t.Fatal(err)
		}
	}
	if n == 0 {
		update(t, l, event.Event{Data: event.SessionOpened{}})
	} else if err := l.Update(one(event.Event{Data: event.InterruptRequested{Reason: event.Interrupted}})); err != nil {
		t.Fatal(err)
	}
	closeLog(t, l)
	l, opened, err = Open(t.Context(), Options{Dir: dir, Session: "s1", Wrap: withoutSync})
	if err != nil || opened.Damage != "" || l.Seq() != uint64(n+1) {
		t.Fatalf("after the repair: %+v, %v", opened, err)
	}
	closeLog(t, l)
}

// quick is a file that is never synced, for tests that open thousands.
type quick struct{ File }

func withoutSync(f File) File { return quick{f} }

func (quick) Sync() error     { return nil }
func (quick) SyncName() error { return nil }

// C20: a log that is torn anywhere opens with its complete records.
func TestTornAtEveryByte(t *testing.T) {
	raw, starts := written(t)
	dir := t.TempDir()
	for size := range raw {
		n, end := 0, 0
		for i, whole := range append(starts, len(raw)) {
			if whole <= size {
				n, end = i, whole
			}
		}
		checkRepaired(t, dir, raw[:size], n, end)
	}
}

func TestBitFlipAtEveryByte(t *testing.T) {
	raw, starts := written(t)
	head, dir := head0(), t.TempDir()
	for i := range raw {
		bad := slices.Clone(raw)
		bad[i] ^= 1 << (i % 8)
		if i < head {
			checkHeaderRepaired(t, bad, len(starts))
			continue
		}
		n, _ := slices.BinarySearch(starts, i+1)
		checkRepaired(t, dir, bad, n-1, starts[n-1])
	}
}

func checkHeaderRepaired(t *testing.T, raw []byte, n int) {
	t.Helper()
	l, opened := open(t, Options{Dir: place(t, raw)})
	if l.Seq() != uint64(n) || opened.Damage == "" || opened.CutBytes != 0 {
		t.Fatalf("%d events, %+v", l.Seq(), opened)
	}
	closeLog(t, l)
	fixed, err := os.ReadFile(opened.Path)
	if err != nil || !bytes.HasPrefix(fixed, header(formatVersion)) {
		t.Fatalf("the first line was not repaired: %q, %v", fixed, err)
	}
}

func TestDamagedTails(t *testing.T) {
	raw, starts := written(t)
	n := len(starts)
	zeros := make([]byte, 8192)
	last := raw[starts[n-1]:]
	misplaced := raw[starts[1]:starts[2]]
	cases := []struct {
		name string
		raw  []byte
		n    int
		end  int
	}{
		{"zeros", slices.Concat(raw, zeros), n, len(raw)},
		{"garbage", slices.Concat(raw, []byte("lorem ipsum\n")), n, len(raw)},
		{"a half record, then zeros", slices.Concat(raw[:len(raw)-9], zeros), n - 1, starts[n-1]},
		{"a record twice", slices.Concat(raw, last), n, len(raw)},
		{"a record of another place", slices.Concat(raw, misplaced), n, len(raw)},
		{"a record is missing", slices.Concat(raw[:starts[2]], raw[starts[3]:]), 2, starts[2]},
		{"a length beyond the file", slices.Concat(raw, []byte("0fffffff 00000000 - {")), n, len(raw)},
		{"nothing but zeros", zeros, 0, 0},
		{"an empty file", nil, 0, 0},
		{"zeros where the header was", slices.Concat(zeros[:head0()], raw[head0():]), 0, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { checkRepaired(t, t.TempDir(), c.raw, c.n, c.end) })
	}
}

func head0() int { return len(header(formatVersion)) }

func TestDamageIsKeptAnew(t *testing.T) {
	raw, _ := written(t)
	dir := place(t, raw[:len(raw)-1])
	for n := 1; n <= 3; n++ {
		l, opened := open(t, Options{Dir: dir})
		if want := fmt.Sprint(opened.Path, ".torn-", n); opened.Kept != want {
			t.Fatalf("kept %q, want %q", opened.Kept, want)
		}
		closeLog(t, l)
		put(t, dir, raw[:len(raw)-n])
	}
}

// Open does not change a log that it refuses, and its error has advice.
func TestRefusals(t *testing.T) {
	raw, starts := written(t)
	newer := []byte(`{"v":99,"session":"s1","seq":1,"at":"2026-01-01T00:00:00Z","kind":"session.opened","data":{}}`)
	record := frame(classOther, newer)
	other := bytes.ReplaceAll(raw[starts[0]:starts[1]], []byte(`"s1"`), []byte(`"s2"`))
	other = frame(classOther, other[headLen:len(other)-1])
	cases := []struct {
		name string
		raw  []byte
		want any
		say  string
	}{
		{"a newer format", append(header(7), "{}"...), new(*NewerError), "use that settle"},
		{"a newer event", slices.Concat(header(formatVersion), record), new(*NewerError), "(version 99)"},
		{"a text", []byte("Dear diary,\ntoday I wrote a log by hand.\n"), new(*ForeignError), "not a log of settle"},
		{"a short text", []byte("x"), new(*ForeignError), "move it away"},
		{"another session's log", slices.Concat(header(formatVersion), other), new(*ForeignError), `session "s2"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := place(t, c.raw)
			_, opened, err := Open(t.Context(), Options{Dir: dir, Session: "s1"})
			if !errors.As(err, c.want) || !strings.Contains(err.Error(), c.say) {
				t.Fatalf("got %v, want a %T with %q", err, c.want, c.say)
			}
			path, _ := logPath(dir, "s1")
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, c.raw) {
				t.Fatalf("the file was changed (%+v): %q, %v", opened, after, err)
			}
		})
	}
}

// frame makes a record of any JSON.
func frame(c class, json []byte) []byte {
	b := fmt.Appendf(nil, "%08x 00000000 %c %s", len(json), c, json)
	putHex(b[9:], checksum(b[sumFrom:]))
	return append(b, '\n')
}

func TestRefusedPlaces(t *testing.T) {
	t.Run("missing", func(t *testing.T) {
		_, _, err := Open(t.Context(), Options{Dir: t.TempDir(), Session: "s1", MustExist: true})
		var missing *MissingError
		if !errors.As(err, &missing) || !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("got %v, want a MissingError", err)
		}
	})
	t.Run("a directory", func(t *testing.T) {
		dir := t.TempDir()
		path, _ := logPath(dir, "s1")
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		_, _, err := Open(t.Context(), Options{Dir: dir, Session: "s1"})
		var foreign *ForeignError
		if !errors.As(err, &foreign) || !strings.Contains(err.Error(), "a directory") {
			t.Fatalf("got %v, want a ForeignError", err)
		}
	})
	t.Run("no directory", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(dir, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := Open(t.Context(), Options{Dir: dir, Session: "s1"})
		var access *AccessError
		if !errors.As(err, &access) || !strings.Contains(err.Error(), "SETTLE_DATA_DIR") {
			t.Fatalf("got %v, want an AccessError", err)
		}
	})
	for _, session := range []string{"", "..", ".hidden", "a/b", `a\b`, "a b", "x.log.torn-1", "-x", strings.Repeat("x", 129), "é"} {
		t.Run("named "+session, func(t *testing.T) {
			_, _, err := Open(t.Context(), Options{Dir: t.TempDir(), Session: session})
			var name *NameError
			if !errors.As(err, &name) {
				t.Fatalf("got %v, want a NameError", err)
			}
		})
	}
}

func TestReadOfAGrowingLog(t *testing.T) {
	raw, starts := written(t)
	for _, size := range []int{0, 5, head0(), starts[3] + 3, starts[3] + 40} {
		n, _ := slices.BinarySearch(starts, size+1)
		got := collect(t, Read(t.Context(), place(t, raw[:size]), "s1", 0))
		diff(t, fmt.Sprint("events in ", size, " bytes"), max(n-1, 0), len(got))
	}
	bad := slices.Clone(raw)
	bad[starts[3]+30] ^= 4
	var damage *DamageError
	n := 0
	for _, err := range Read(t.Context(), place(t, bad), "s1", 0) {
		n++
		if err != nil && !errors.As(err, &damage) {
			t.Fatal(err)
		}
	}
	if n != 4 || damage == nil || damage.Offset != int64(starts[3]) {
		t.Fatalf("got %d elements and %v", n, damage)
	}
}

// Deltas of ended turns are not even decoded: nobody needs them any more.
func TestOpenPassesOverDeltasOfEndedTurns(t *testing.T) {
	raw, starts := written(t)
	i := slices.IndexFunc(starts, func(at int) bool { return raw[at+sumFrom] == byte(classDelta) })
	odd := slices.Concat(raw[:starts[i]], frame(classDelta, []byte("{}")), raw[starts[i+1]:])
	l, opened := open(t, Options{Dir: place(t, odd)})
	if opened.Damage != "" || l.Seq() != uint64(len(starts)) {
		t.Fatalf("%d events, %+v", l.Seq(), opened)
	}
}

// A subscription may begin anywhere in a long log, new or opened again.
func TestSubscriptionWithinALongLog(t *testing.T) {
	dir := t.TempDir()
	l, _ := open(t, Options{Dir: dir, Wrap: withoutSync})
	begin(t, l)
	text := strings.Repeat("x", 10<<10)
	for i := range 4 * markEvery / len(text) {
		update(t, l, delta(text))
		if i%8 == 0 {
			collectUntil(t, l, l.Seq()) // so that not all are merged
		}
	}
	check := func(l *Log) {
		t.Helper()
		all := collectUntil(t, l, l.Seq())
		if len(l.store.(*fileStore).marks) < 3 {
			t.Fatalf("there are %d marks", len(l.store.(*fileStore).marks))
		}
		for after := range all {
			for e, err := range l.Events(t.Context(), uint64(after)) {
				if err != nil || e.Seq != uint64(after+1) {
					t.Fatalf("event %d follows %d: %v", e.Seq, after, err)
				}
				break
			}
		}
	}
	check(l)
	closeLog(t, l)
	l, _ = open(t, Options{Dir: dir})
	check(l)
	closeLog(t, l)
}

func TestLoad(t *testing.T) {
	raw, starts := written(t)
	dir := place(t, raw[:len(raw)-1])
	state, err := Load(dir, "s1")
	if err != nil || state.Seq != uint64(len(starts)-1) || state.Running() == nil {
		t.Fatalf("got event %d, %v", state.Seq, err)
	}
	bad := slices.Clone(raw)
	bad[starts[3]+30] ^= 4
	put(t, dir, bad)
	var damage *DamageError
	if state, err = Load(dir, "s1"); !errors.As(err, &damage) || state.Seq != 3 {
		t.Fatalf("got event %d, %v", state.Seq, err)
	}
	var missing *MissingError
	if _, err = Load(dir, "s2"); !errors.As(err, &missing) {
		t.Fatalf("got %v", err)
	}
}

func TestListAndDelete(t *testing.T) {
	dir := t.TempDir()
	if got, err := List(dir); err != nil || len(got) > 0 {
		t.Fatalf("got %v, %v", got, err)
	}
	raw, _ := written(t)
	put(t, dir, raw[:len(raw)-1])
	l, opened := open(t, Options{Dir: dir})
	other, _ := open(t, Options{Dir: dir, Session: "s2"})
	closeLog(t, other)
	if err := os.WriteFile(filepath.Join(sessionsDir(dir), "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := List(dir)
	if err != nil || len(list) != 2 || list[0].Session != "s1" || list[0].Size == 0 || list[1].Session != "s2" {
		t.Fatalf("got %+v, %v", list, err)
	}
	var held *HeldError
	if err := Delete(t.Context(), dir, "s1"); !errors.As(err, &held) {
		t.Fatalf("got %v, want a HeldError", err)
	}
	closeLog(t, l)
	for _, session := range []string{"s1", "s2"} {
		if err := Delete(t.Context(), dir, session); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(opened.Kept); !os.IsNotExist(err) {
		t.Fatalf("%q is left: %v", opened.Kept, err)
	}
	var missing *MissingError
	if err := Delete(t.Context(), dir, "s1"); !errors.As(err, &missing) {
		t.Fatalf("got %v, want a MissingError", err)
	}
}

// Delete removes the log after all that belongs to it: while something is left, the session is
// still listed, and a second attempt finds it.
func TestDeleteRemovesLogLast(t *testing.T) {
	for _, name := range []func(log string) string{
		snapshotPath, func(log string) string { return log + tornSuffix + "7" },
	} {
		dir := t.TempDir()
		raw, _ := written(t)
		put(t, dir, raw)
		log, err := logPath(dir, "s1")
		if err != nil {
			t.Fatal(err)
		}
		stuck := name(log) // a folder with an entry, which Delete does not remove
		if err := os.MkdirAll(filepath.Join(stuck, "entry"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := Delete(t.Context(), dir, "s1"); err == nil {
			t.Errorf("%s is left without an error", stuck)
		}
		if list, err := List(dir); err != nil || len(list) != 1 {
			t.Errorf("%s is left of a session that is gone: %v, %v", stuck, list, err)
		}
		if err := errors.Join(os.RemoveAll(stuck), Delete(t.Context(), dir, "s1")); err != nil {
			t.Error(err)
		}
	}
}
