package appserver

import (
	"io"
	"sync"
)

// input is the client's end of the conversation. Its end is told by gone, and
// kept from the connection until release: a connection that has nothing more to
// read or to answer is done, and there are last things to say.
type input struct {
	in      io.Reader
	once    sync.Once
	within  bool          // a line has begun and not ended
	gone    chan struct{} // closed at the end of in
	release chan struct{} // closed when everything has been said
}

func newInput(in io.Reader) *input {
	return &input{in: in, gone: make(chan struct{}), release: make(chan struct{})}
}

// Read implements [io.Reader]. The last line need not have ended: it is answered
// before the end is told.
func (i *input) Read(p []byte) (int, error) {
	n, err := i.in.Read(p)
	if n > 0 || err == nil {
		i.within = n > 0 && p[n-1] != '\n'
		return n, nil // an error will come again
	}
	if i.within && len(p) > 0 {
		i.within, p[0] = false, '\n'
		return 1, nil
	}
	i.once.Do(func() { close(i.gone) })
	<-i.release // shutDown closes it, and Serve ends with that
	return 0, err
}
