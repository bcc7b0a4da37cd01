package changes

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/settle-agent/settle/internal/disk"
)

// parallel drives a recorder with calls that run at the same time.
type parallel struct {
	*rapid.T
	ctx     context.Context
	dir     string
	store   *disk.ContentStore
	r       *Recorder
	active  []*Call
	count   int
	records []Record
	left    []*Call // calls whose record is an intent
	excused bool    // files changed while no call could be recorded
	pending bool    // files changed since the last complete record
}

// The paths that calls change.
var parallelPaths = []string{"a", "b", "d", "d/c", "d/e", "d/e/f", "n"}

// change makes one change of a path. Its error, such as of a missing directory, does not matter.
func (p *parallel) change() func() {
	name := rapid.SampledFrom(parallelPaths).Draw(p.T, "path")
	path := filepath.Join(p.dir, name)
	to := filepath.Join(p.dir, rapid.SampledFrom(parallelPaths).Draw(p.T, "to"))
	content := rapid.SampledFrom([]string{"", "1", "22", "other"}).Draw(p.T, "content")
	what := rapid.SampledFrom([]string{"write", "remove", "mkdir", "pipe", "link", "move", "mode"}).Draw(p.T, "change")
	return func() {
		if info, err := os.Lstat(filepath.Dir(path)); err != nil || !info.IsDir() {
			return // os.RemoveAll opens it, and would wait for a pipe
		}
		switch what {
		case "write":
			if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
				_ = os.Remove(path) // a pipe without a reader blocks
			}
			_ = os.WriteFile(path, []byte(content), 0o644)
		case "remove":
			_ = os.RemoveAll(path)
		case "mkdir":
			_ = os.Mkdir(path, 0o755)
		case "pipe":
			_ = os.RemoveAll(path)
			_ = syscall.Mkfifo(path, 0o644)
		case "link":
			_ = os.Symlink("a", path)
		case "move":
			_ = os.Rename(path, to)
		case "mode":
			_ = os.Chmod(path, 0o755)
		}
	}
}

func (p *parallel) changed() {
	known := slices.ContainsFunc(p.active, func(c *Call) bool { return c.why == "" })
	p.excused, p.pending = p.excused || !known, true
}

func (p *parallel) begin(ctx context.Context) {
	p.count++
	p.active = append(p.active, p.r.Begin(ctx, fmt.Sprintf("c%d", p.count), []byte("{}")))
}

// end ends a call, while other calls can change files.
func (p *parallel) end(meanwhile func()) {
	n := rapid.IntRange(0, len(p.active)-1).Draw(p.T, "call")
	c := p.active[n]
	p.active = slices.Delete(p.active, n, n+1)
	how := rapid.SampledFrom([]string{"ends", "ends", "ends", "slow", "interrupted"}).Draw(p.T, "how")
	limit := p.r.config.Limits.Time
	var wg sync.WaitGroup
	if len(p.active) > 0 && meanwhile != nil {
		p.changed()
		wg.Go(meanwhile)
	}
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	switch how {
	case "slow":
		p.r.config.Limits.Time = time.Nanosecond
	case "interrupted":
		cancel()
	}
	record, ok := p.r.End(ctx, c)
	p.r.config.Limits.Time = limit
	if !ok {
		p.r.mu.Lock()
		p.r.leave(p.ctx, c) // as the goroutine of Leave does
		p.r.mu.Unlock()
		p.left = append(p.left, c)
	} else {
		p.records = append(p.records, record)
	}
	wg.Wait()
	if len(p.active) == 0 && record.Why != "" && p.pending {
		p.excused = true // the record says why
	}
	if len(p.active) == 0 {
		p.pending = false
	}
}

// state describes the entries of the directory.
func (p *parallel) state() map[string]Version {
	out := map[string]Version{}
	err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(p.dir, path)
		if err != nil || name == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		n := nodeOf(info)
		v := Version{Kind: n.Kind, Mode: n.Mode}
		switch n.Kind {
		case File:
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			v.SHA256 = disk.Sum(content)
		case Link:
			v.Mode = ""
			v.Target, err = os.Readlink(path)
		case special:
			return nil
		}
		out[name] = v
		return err
	})
	if err != nil {
		p.Fatal(err)
	}
	return out
}

// check compares what the records say about each path with the states before the first call and
// after the last one.
func (p *parallel) check(before, after map[string]Version) {
	intents := p.store.Intents()
	for _, c := range p.left {
		record := RecordOf(intents(c.Call, []byte("{}")))
		if record == nil {
			p.Fatalf("no record of %s", c.Call)
		}
		p.records = append(p.records, *record)
	}
	slices.SortStableFunc(p.records, func(a, b Record) int { return a.At.Compare(b.At) })
	type change struct {
		was, left *Version
		why       string
	}
	all := map[string]*change{}
	for _, r := range p.records {
		for _, one := range r.Files {
			if all[one.Path] == nil {
				all[one.Path] = &change{was: one.Before}
			}
			c := all[one.Path]
			c.left = one.After
			if c.why == "" {
				c.why = one.Why
			}
		}
	}
	for _, path := range parallelPaths {
		was, had := before[path]
		is, has := after[path]
		c := all[path]
		switch {
		case was == is || c != nil && c.why != "":
			continue
		case c == nil:
			p.Errorf("%s is not recorded: it was %+v, and is %+v", path, was, is)
			continue
		case had != (c.was != nil) || had && !Same(&was, c.was), has != (c.left != nil) || has && !Same(&is, c.left):
			p.Errorf("%s was %+v, and is %+v; recorded: %+v, %+v", path, was, is, c.was, c.left)
		}
		if had && was.Kind == File && (!has || is.SHA256 != was.SHA256) {
			if _, err := p.store.Get(was.SHA256); err != nil {
				p.Errorf("the content of %s: %v", path, err)
			}
		}
	}
}

// The records of parallel calls have the earlier state of each entry that changed, whatever happens
// to the walks between them.
func TestParallelCallsLoseNoContent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		base, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		p := &parallel{T: rt, ctx: t.Context(), dir: filepath.Join(base, "work")}
		p.store = disk.NewContentStore(filepath.Join(base, "files"), 1<<30)
		if err := os.MkdirAll(filepath.Join(p.dir, "d", "e"), 0o755); err != nil {
			rt.Fatal(err)
		}
		for _, name := range []string{"a", "b", "d/c", "d/e/f"} {
			if err := os.WriteFile(filepath.Join(p.dir, name), []byte("first "+name), 0o644); err != nil {
				rt.Fatal(err)
			}
		}
		held, err := disk.HoldWorkDir(p.dir)
		if err != nil {
			rt.Fatal(err)
		}
		defer held.Close()
		p.r = NewRecorder(p.ctx, Config{Dir: held, Store: p.store, Limits: Limits{Time: time.Minute}})
		defer func() { _ = p.r.Close(p.ctx) }()
		before := p.state()
		cancelled, cancel := context.WithCancel(p.ctx)
		cancel()
		for range rapid.IntRange(3, 20).Draw(rt, "steps") {
			steps := []string{"begin", "change", "change", "end", "cut begin"}
			switch step := rapid.SampledFrom(steps).Draw(rt, "step"); {
			case step == "cut begin":
				p.begin(cancelled)
			case step == "begin" || len(p.active) == 0:
				p.begin(p.ctx)
			case step == "change":
				p.changed()
				p.change()()
			default:
				p.end(p.change())
			}
		}
		for len(p.active) > 0 {
			p.end(nil)
		}
		if !p.excused && p.r.why == "" {
			p.check(before, p.state())
		}
	})
}
