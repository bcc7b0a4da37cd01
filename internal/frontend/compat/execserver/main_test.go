package execserver_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/guard"
	"github.com/settle-agent/settle/internal/frontend/compat/execserver"
	"github.com/settle-agent/settle/internal/frontend/compat/execserver/execservertest"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/test/setsid"
	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) {
	setsid.Command()
	proc.RunAsSupervisor()
	os.Exit(leak.Run(setsid.With(m)))
}

// begin starts a server on the loopback interface, and ends it with the test.
func begin(t *testing.T, o execserver.Options) (server *execserver.Server, url string) {
	t.Helper()
	o.Dir, o.TempDir = t.TempDir(), t.TempDir()
	server = execserver.New(o)
	return server, listen(t, server, "")
}

func listen(t *testing.T, server *execserver.Server, token string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &http.Server{
		Handler:           server.Handler(context.Background(), token, guard.Names{}),
		ReadHeaderTimeout: execservertest.Patience,
	}
	served := make(chan struct{})
	go func() { // ends with Close below
		defer close(served)
		_ = h.Serve(l)
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), execservertest.Patience)
		defer cancel()
		if err := server.Close(ctx, event.Shutdown, "test"); err != nil {
			t.Error(err)
		}
		_ = h.Close()
		<-served
	})
	return "ws://" + l.Addr().String()
}

// client begins a session on a new server.
func client(t *testing.T) *execservertest.Client {
	t.Helper()
	_, url := begin(t, execserver.Options{ResumeTimeout: time.Minute})
	c := execservertest.Dial(t, url, nil)
	c.Hello("")
	return c
}
