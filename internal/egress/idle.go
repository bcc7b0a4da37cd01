package egress

import (
	"io"
	"sync/atomic"
	"time"
)

// watch calls a function after a time without reads.
type watch struct {
	timeout time.Duration
	last    atomic.Int64 // time of the last read, in nanoseconds since began
	began   time.Time
	timer   *time.Timer
}

func newWatch(timeout time.Duration, fire func()) *watch {
	w := &watch{timeout: timeout, began: time.Now()}
	ready := make(chan struct{})
	w.timer = time.AfterFunc(timeout, func() {
		<-ready // closed at once
		if left := w.timeout - (time.Since(w.began) - time.Duration(w.last.Load())); left > 0 {
			w.timer.Reset(left)
			return
		}
		fire()
	})
	close(ready)
	return w
}

func (w *watch) stop() { w.timer.Stop() }

// reader records each read.
func (w *watch) reader(r io.Reader) io.Reader { return watchedReader{w, r} }

type watchedReader struct {
	watch *watch
	from  io.Reader
}

func (r watchedReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.watch.last.Store(int64(time.Since(r.watch.began)))
	return n, err
}
