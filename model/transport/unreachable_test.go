package transport

import (
	"context"
	"errors"
	"net"
	"net/http/httptest"
	"testing"

	"github.com/settle-agent/settle/model"
)

// A server that does not answer is unreachable: settle waits and retries. An untrusted certificate
// is an answer, and a response that breaks off is another fault.
func TestUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewTLSServer(nil)
	defer secure.Close()
	for base, want := range map[string]bool{nobody: true, "http://no-such-host.invalid": true, secure.URL: false} {
		e := Endpoint{BaseURL: base}.Prepared()
		var fault *model.Error
		_, err := e.do(context.Background(), &Request{Path: "/v1/x"})
		if !errors.As(err, &fault) || fault.Kind != model.ErrConnection || fault.Unreachable != want {
			t.Errorf("%s: unreachable %t, %v", base, !want, err)
		}
		e.Client.CloseIdleConnections()
	}
}
