package execserver

import (
	"context"
	"testing"
)

// A process that ends while it is fed holds up neither its feeder nor its client.
func TestInputEndsWhileFed(t *testing.T) {
	feeding, fed := make(chan struct{}), make(chan struct{})
	in := newInputs(func(context.Context, []byte) error {
		close(feeding)
		<-fed
		return nil
	})
	ended := make(chan struct{})
	go func() { // ends with close
		defer close(ended)
		in.run(t.Context())
	}()
	in.add("1", []byte("word"))
	<-feeding
	in.close()
	close(fed)
	<-ended
	if in.add("2", []byte("word")) {
		t.Error("an ended process takes input")
	}
}
