//go:build machine && !race

package execserver_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/coder/websocket"

	"github.com/settle-agent/settle/internal/frontend/compat/execserver"
	"github.com/settle-agent/settle/internal/frontend/compat/execserver/execservertest"
)

// C7: of a thousand processes over one connection, which say something each, all end:
// most because they are terminated, the last hundred because the client is gone. What
// has ended costs next to nothing. (Under the race detector, where each supervisor takes
// long to begin, TestManyProcesses has to do.)
func TestThousandProcesses(t *testing.T) {
	const (
		waves, wave = 10, 100
		maxGrowth   = 32 << 20
	)
	_, url := begin(t, execserver.Options{ResumeTimeout: -1})
	ctx, cancel := context.WithTimeout(t.Context(), 8*execservertest.Patience)
	defer cancel()
	conn, answer, err := websocket.Dial(ctx, url, nil)
	if answer != nil && answer.Body != nil {
		_ = answer.Body.Close() // the connection is conn's now
	}
	if err != nil {
		t.Fatal(err)
	}
	c := execservertest.New(t, ctx, conn)
	defer c.Cut()
	c.Hello("")
	dir := t.TempDir()
	mark := fmt.Sprintf("thousand-%d-%s", os.Getpid(), filepath.Base(filepath.Dir(dir)))
	before := heap()
	for w := range waves {
		starts, ends := []func() execservertest.Answer{}, []func() execservertest.Answer{}
		for i := range wave {
			start := execservertest.Start(
				fmt.Sprint(w, "-", i),
				fmt.Sprintf("echo %d of %d; read never", i, w),
				dir,
				mark,
			)
			start["pipeStdin"] = true
			starts = append(starts, c.Begin("process/start", start))
		}
		for i, started := range starts {
			if a := started(); a.Error != nil {
				t.Fatal(a.Error)
			}
			id := fmt.Sprint(w, "-", i)
			c.Until(id, "its word", says(fmt.Sprintf("%d of %d\n", i, w)))
			if w < waves-1 {
				ends = append(ends, c.Begin("process/terminate", object{"processId": id}))
			}
		}
		for i, ended := range ends {
			if a := ended(); a.Error != nil {
				t.Fatal(a.Error)
			}
			c.Until(fmt.Sprint(w, "-", i), "the end", closed)
		}
	}
	if running := len(execservertest.Survivors(mark)); running < wave {
		t.Errorf("%d are running, of the last %d", running, wave)
	}
	if grown := heap() - before; grown > maxGrowth {
		t.Errorf("a thousand processes cost %d bytes", grown)
	} else {
		t.Logf("a thousand processes cost %d bytes", grown)
	}
	c.Cut()
	if left := execservertest.AwaitNone(mark, execservertest.Patience); len(left) > 0 {
		t.Errorf("%d are left: %v", len(left), left)
	}
}

// heap returns the number of bytes in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
