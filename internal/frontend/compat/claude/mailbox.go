package claude

// mailbox passes functions to the goroutine that runs loop.
type mailbox struct {
	mail chan func()
	quit chan struct{} // closed when nothing is waited for any more
	done chan struct{} // closed when loop has ended
}

func newMailbox() mailbox {
	return mailbox{mail: make(chan func()), quit: make(chan struct{}), done: make(chan struct{})}
}

// post has loop call f, and reports whether it will.
func (m mailbox) post(f func()) bool {
	select {
	case m.mail <- f:
		return true
	case <-m.quit:
		return false
	}
}

// do has loop call f, and waits for that.
func (m mailbox) do(f func()) {
	done := make(chan struct{})
	if m.post(func() { f(); close(done) }) {
		<-done // loop calls each function that it receives
	}
}
