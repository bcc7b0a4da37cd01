package changes

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/disk"
)

// Defaults of Limits.
const (
	DefaultFiles = 20_000
	DefaultBytes = 64 << 20
	DefaultTime  = 500 * time.Millisecond
)

// Limits bound a Recorder. Zero fields have the defaults.
type Limits struct {
	// Files is the number of files, links and directories of the tree. In a larger tree, nothing
	// is recorded.
	Files int
	// Bytes bounds the copies of the tree. The eighth part of it, and at most 64 MiB, bounds one
	// file. Other files are only compared.
	Bytes int64
	// Time bounds a walk, and the time after it in which files are still read.
	Time time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.Files <= 0 {
		l.Files = DefaultFiles
	}
	if l.Bytes <= 0 {
		l.Bytes = DefaultBytes
	}
	if l.Time <= 0 {
		l.Time = DefaultTime
	}
	return l
}

// maxFile bounds one file, in bytes, also for a rewind.
const maxFile = 64 << 20

func (l Limits) fileBytes() int64 { return min(l.Bytes/8, maxFile) }

const (
	// maxFlushed is the number of earlier contents up to which each is flushed to the disk.
	maxFlushed = 16
	// maxSlow is the number of slow walks after which nothing is recorded any more.
	maxSlow = 3
	// aliveEvery is the time between two signs of life while calls run. After a kill, the changes
	// since the last one are not undone: another program can have made them.
	aliveEvery = 100 * time.Millisecond
)

// Config configures a Recorder.
type Config struct {
	// Dir is the directory of the session, held open.
	Dir *disk.WorkDir
	// Store gets the earlier contents of changed files, and the records of interrupted calls.
	Store *disk.ContentStore
	// DataDir is settle's own data directory, canonical, which is not recorded if it lies in Dir.
	DataDir string
	Limits  Limits
}

// Recorder records the changes of a session's calls. Its methods are safe for concurrent use.
type Recorder struct {
	config  Config
	leaving sync.WaitGroup // for Close

	mu sync.Mutex // guards the fields below, and the base
	// why is the reason why nothing is recorded any more; empty while changes are recorded.
	why    string
	slow   int // slow walks in a row
	base   *base
	place  place // of the last walk
	tree   *tree // the tree after the last walk; nil if it is unknown
	last   *tree // the tree after the last complete walk, whose contents the base has; can be nil
	active []*Call
	beside []string      // ids of running calls that record their changes themselves
	alive  chan struct{} // closed to end the signs of life
}

// Call is a call that runs.
type Call struct {
	opened
	with []string
	why  string // why nothing is known about its changes
}

// NewRecorder returns the recorder of a session. It first writes the records of calls that a
// killed host left. The caller must call Close.
func NewRecorder(ctx context.Context, c Config) *Recorder {
	c.Limits = c.Limits.withDefaults()
	r := &Recorder{config: c}
	if err := r.recover(ctx); err != nil {
		r.why = err.Error()
	}
	return r
}

func (r *Recorder) baseDir() string { return r.config.Store.BaseDir() }

// Begin records the files before a call with that id and the arguments. The call must have End or
// Leave.
func (r *Recorder) Begin(ctx context.Context, id string, arguments []byte) *Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &Call{opened: opened{Call: id, Arguments: disk.Sum(arguments), At: time.Now().UTC()}, why: r.why}
	if r.why == "" && (len(r.active) == 0 || r.tree == nil) { // the look before a parallel call can have failed
		if err := r.look(ctx, false); err != nil {
			c.why = err.Error()
		}
	}
	for _, parallel := range r.active {
		parallel.with = append(parallel.with, id)
		c.with = append(c.with, parallel.Call)
	}
	c.with = append(c.with, r.beside...)
	r.active = append(r.active, c)
	if r.base != nil && c.why == "" {
		c.place = r.place
		r.base.write(line{Begin: &c.opened})
		_ = r.base.out.Flush() // without it, changes of a killed host are not recorded
		r.signal()
	}
	return c
}

// Beside is called before a call that records its changes itself, such as an edit, so that
// records of other calls name it. done is called after it.
func (r *Recorder) Beside(id string) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, parallel := range r.active {
		parallel.with = append(parallel.with, id)
	}
	r.beside = append(r.beside, id)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if i := slices.Index(r.beside, id); i >= 0 {
			r.beside = slices.Delete(r.beside, i, i+1)
		}
	}
}

// End records the files after the call. It returns false if ctx ended first; the call then needs
// Leave.
func (r *Recorder) End(ctx context.Context, c *Call) (Record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.tree
	record := r.end(ctx, c)
	if ctx.Err() != nil && record.Why != "" && before != nil {
		return Record{}, false
	}
	r.remove(c, &record)
	return record, true
}

func (r *Recorder) end(ctx context.Context, c *Call) Record {
	record := Record{Files: []Change{}, With: c.with, Why: c.why}
	before := r.tree
	if before == nil && record.Why == "" {
		record.Why = r.unknown()
	}
	if record.Why == "" {
		if err := r.look(ctx, true); err != nil {
			record.Why = err.Error()
			if r.why == "" { // the record after a parallel call has the changes
				r.tree = before
			}
		}
	}
	record.At = time.Now().UTC()
	if record.Why != "" {
		return record
	}
	record.add(compare(before, r.tree))
	keep(r.config.Store, r.base.get, record.Files)
	if err := r.base.keepOnly(r.tree); err != nil {
		r.stop(err)
	}
	return record
}

// unknown returns the reason why the tree is unknown while a call runs.
func (r *Recorder) unknown() string {
	if r.why != "" {
		return r.why
	}
	return "the files could not be compared after another call"
}

// Leave records the changes of an interrupted call, whose record cannot be part of its result, as
// an intent. It returns at once; Close waits for it.
func (r *Recorder) Leave(ctx context.Context, c *Call) {
	r.leaving.Add(1)
	go func() { // bounded by the limits of a walk
		defer r.leaving.Done()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.leave(context.WithoutCancel(ctx), c)
	}()
}

func (r *Recorder) leave(ctx context.Context, c *Call) {
	if !slices.Contains(r.active, c) {
		return // Close has recorded it: a second record would be empty
	}
	defer r.remove(c, nil)
	intend(r.config.Store, c.opened, r.end(ctx, c))
}

func intend(store *disk.ContentStore, c opened, record Record) {
	var none json.RawMessage
	_ = store.IntendSum(c.Call, c.Arguments, record.AddTo(none)) // without it, a rewind lists the call as unknown
}

// remove removes a call that ended from the calls that run, and logs its end and record.
func (r *Recorder) remove(c *Call, record *Record) {
	r.active = slices.DeleteFunc(r.active, func(one *Call) bool { return one == c })
	if r.base != nil {
		r.base.end(c.opened, record) // before the tree, which has the call's changes
		if r.tree != nil {
			_ = r.base.record(r.tree, r.opened()) // as in Begin
		} else {
			_ = r.base.out.Flush() // as in Begin
		}
	}
	if len(r.active) == 0 && r.alive != nil {
		close(r.alive)
		r.alive = nil
	}
}

// opened returns the calls that run, for the log.
func (r *Recorder) opened() (out []opened) {
	for _, c := range r.active {
		out = append(out, c.opened)
	}
	return out
}

// look makes a walk and copies files without a copy. After an error, the tree is unknown. after
// reports that the walk follows a call.
func (r *Recorder) look(ctx context.Context, after bool) (err error) {
	old, began := r.last, time.Now()
	r.tree = nil
	defer func() { r.judge(ctx, err) }()
	root, err := r.config.Dir.Open()
	if err != nil {
		return err
	}
	defer root.Close()
	if r.place, err = placeOf(root); err != nil {
		return err
	}
	if r.base == nil {
		if r.base, err = newBase(r.baseDir(), r.config.Limits.Bytes); err != nil {
			return err
		}
	}
	w, err := tour(ctx, root, r.config.Limits, below(root.Path(), r.config.DataDir))
	if err != nil {
		return err
	}
	c := copier{
		root: root, limits: r.config.Limits, until: time.Now().Add(r.config.Limits.Time), base: r.base, old: old,
		after: after,
	}
	t, err := c.complete(ctx, w)
	if err != nil {
		return err
	}
	t.at = began
	r.tree, r.last = t, t
	if after { // the base has contents of both trees until the record is made
		return nil
	}
	if err := r.base.keepOnly(t); err != nil {
		return err
	}
	return r.base.record(t, r.opened())
}

// judge stops the recorder after errors that come again.
func (r *Recorder) judge(ctx context.Context, err error) {
	var slow *slowError
	switch {
	case err == nil:
		r.slow = 0
	case ctx.Err() != nil:
	case errors.As(err, &slow):
		if r.slow++; r.slow >= maxSlow {
			r.stop(err)
		}
	default:
		r.stop(err)
	}
}

// stop ends the recording, and forgets the base.
func (r *Recorder) stop(err error) {
	r.why = err.Error() + ", so settle does not record what commands change there"
	r.tree, r.last = nil, nil
	if r.base != nil {
		_ = r.base.close()
		r.base = nil
	}
	_ = os.RemoveAll(r.baseDir())
}

// below returns the path of dir below root, with slashes; "" if it does not lie there.
func below(root, dir string) string {
	rel, err := filepath.Rel(root, dir)
	if dir == "" || err != nil || rel == "." || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// signal gives signs of life while calls run.
func (r *Recorder) signal() {
	r.base.touch()
	if r.alive != nil {
		return
	}
	r.alive = make(chan struct{})
	done := r.alive
	r.leaving.Add(1)
	go func() { // ends with the last call
		defer r.leaving.Done()
		tick := time.NewTicker(aliveEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			r.mu.Lock()
			if r.base != nil {
				r.base.touch()
			}
			r.mu.Unlock()
		}
	}()
}

// Close records the calls that have not returned, and removes the base. If ctx ends first, the
// base stays for the next host.
func (r *Recorder) Close(ctx context.Context) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	for len(r.active) > 0 {
		r.leave(ctx, r.active[0])
	}
	r.mu.Unlock()
	waited := make(chan struct{})
	go func() { // ends with the goroutines of Leave and signal
		r.leaving.Wait()
		close(waited)
	}()
	select {
	case <-waited:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.base == nil {
		return nil
	}
	err := r.base.close()
	r.base = nil
	return errors.Join(err, os.RemoveAll(r.baseDir()))
}

// keep stores the earlier contents of changed files. A change whose content cannot be stored
// cannot be undone.
func keep(store *disk.ContentStore, get func(sum string) ([]byte, error), all []Change) {
	count := 0
	for n := range all {
		c := &all[n]
		if c.Before == nil || c.Before.Kind != File || c.Why != "" ||
			c.After != nil && c.After.Kind == File && c.After.SHA256 == c.Before.SHA256 {
			continue
		}
		content, err := get(c.Before.SHA256)
		if err == nil {
			if count++; count <= maxFlushed {
				err = store.Keep(content)
			} else {
				err = store.KeepUnflushed(content)
			}
		}
		if err != nil {
			c.Why = err.Error()
		}
	}
}
