package transport

import (
	"io"
	"net/http"
	"testing"
)

// A body stays as long as a reader may need it, and no longer.
func TestPayload(t *testing.T) {
	p := &payload{data: []byte("hello")}
	r, err := http.NewRequest(http.MethodPost, "http://x.test", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.attach(r)
	again, err := r.GetBody() // for a redirect
	if err != nil || r.ContentLength != 5 {
		t.Fatalf("%v, %d bytes", err, r.ContentLength)
	}
	p.answer() // in the middle of sending
	if p.data == nil {
		t.Error("it is gone before it was sent")
	}
	for _, body := range []io.ReadCloser{r.Body, again} {
		if got, err := io.ReadAll(body); string(got) != "hello" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		for range 2 { // net/http closes bodies more than once
			if err := body.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if p.data != nil || p.open != 0 {
		t.Errorf("it is kept after the answer has begun; %d readers", p.open)
	}
	if _, err := r.GetBody(); err == nil {
		t.Error("it is sent again after the answer has begun")
	}
	if n, err := r.Body.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Error("it is read after it was closed")
	}
}

// A body that was sent is released while its answer streams: over HTTP/2, net/http closes it only at the end of the
// answer.
func TestPayloadIsReleasedWhenItWasSent(t *testing.T) {
	p := &payload{data: []byte("hello")}
	r, err := http.NewRequest(http.MethodPost, "http://x.test", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.attach(r)
	if _, err := io.ReadFull(r.Body, make([]byte, r.ContentLength)); err != nil {
		t.Fatal(err)
	}
	if again, err := r.GetBody(); err != nil || again.Close() != nil {
		t.Errorf("it cannot be sent again before the answer has begun: %v", err)
	}
	p.answer()
	if p.data != nil {
		t.Error("it is kept although it was sent and the answer has begun")
	}
	if n, err := r.Body.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the end, %d bytes were read: %v", n, err)
	}
	if err := r.Body.Close(); err != nil || p.open != 0 {
		t.Errorf("%v, %d readers", err, p.open)
	}
}
