package egress

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
)

// forward carries a request for http://HOST/… to its host, and the answer back. What is
// between the command and this proxy only stays here (RFC 9110, section 7.6.1).
func (g *Gate) forward(over http.RoundTripper, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	stop := context.AfterFunc(g.ctx, cancel)
	defer stop()
	said := &early{to: w}
	out := r.Clone(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: said.pass}))
	out.Close = false
	if r.ContentLength == 0 {
		out.Body = nil // else a request is not taken for one that can be sent again
	}
	if out.Body != nil {
		defer out.Body.Close() // the transport may read it after it has answered
	}
	upgrade := strip(out.Header)
	for _, name := range []string{"Proxy-Authorization", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		out.Header.Del(name)
	}
	for _, te := range r.Header.Values("Te") {
		if has(te, "trailers") {
			out.Header.Set("Te", "trailers")
		}
	}
	if upgrade != "" {
		out.Header.Set("Connection", "Upgrade")
		out.Header.Set("Upgrade", upgrade)
	}
	if _, named := out.Header["User-Agent"]; !named {
		out.Header.Set("User-Agent", "") // it is not Go's
	}
	answer, err := over.RoundTrip(out)
	said.end()
	if err != nil {
		sayFailure(w, err)
		return
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusSwitchingProtocols {
		g.upgraded(w, answer, upgrade)
		return
	}
	strip(answer.Header)
	carryAnswer(w, answer)
}

// early passes on what is said before the answer, such as 103.
type early struct {
	to http.ResponseWriter

	mu   sync.Mutex // guards what follows, and to until it is over
	over bool
}

func (e *early) pass(code int, header textproto.MIMEHeader) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over { // the transport gave up while it was still being read
		return nil
	}
	add(e.to.Header(), http.Header(header))
	e.to.WriteHeader(code)
	clear(e.to.Header())
	return nil
}

func (e *early) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
}

// carryAnswer writes an answer, each part of it as soon as it has come.
func carryAnswer(w http.ResponseWriter, answer *http.Response) {
	add(w.Header(), answer.Header)
	announced := len(answer.Trailer)
	for name := range answer.Trailer {
		w.Header().Add("Trailer", name)
	}
	w.WriteHeader(answer.StatusCode)
	flush := http.NewResponseController(w).Flush
	part := make([]byte, 32<<10)
	for {
		n, err := answer.Body.Read(part)
		if n > 0 {
			if _, err := w.Write(part[:n]); err != nil {
				panic(http.ErrAbortHandler)
			}
			_ = flush()
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			panic(http.ErrAbortHandler) // the command must not take it for the whole
		}
	}
	if len(answer.Trailer) > 0 {
		_ = flush() // so that it has chunks
	}
	for name, values := range answer.Trailer {
		if len(answer.Trailer) != announced {
			name = http.TrailerPrefix + name
		}
		for _, value := range values {
			w.Header().Add(name, value)
		}
	}
}

// upgraded carries what follows an answer that changes the protocol.
func (g *Gate) upgraded(w http.ResponseWriter, answer *http.Response, asked string) {
	to, ok := answer.Body.(io.ReadWriteCloser)
	if got := answer.Header.Get("Upgrade"); !ok || asked == "" || !strings.EqualFold(got, asked) {
		sayFailure(w, errors.New("the server changes to a protocol that was not asked for"))
		return
	}
	from, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "settle: "+err.Error(), http.StatusInternalServerError)
		return
	}
	defer from.Close()
	answer.Body = nil // its head only
	if answer.Write(buffered) != nil || buffered.Flush() != nil {
		return
	}
	cut := func() {
		_ = from.Close()
		_ = to.Close()
	}
	idle := newWatch(idleTimeout, cut)
	defer idle.stop()
	stop := context.AfterFunc(g.ctx, cut)
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { // each ends when its source does, or is cut
		_, err := io.Copy(to, idle.reader(buffered))
		if half, ok := to.(interface{ CloseWrite() error }); err != nil || !ok || half.CloseWrite() != nil {
			cut()
		}
	})
	both.Go(func() {
		_, err := io.Copy(from, idle.reader(to))
		if err != nil || closeWrite(from) != nil {
			cut()
		}
	})
	both.Wait()
}

// strip removes what is about one connection, and returns the protocol that it asks for.
func strip(h http.Header) (upgrade string) {
	for _, line := range h["Connection"] {
		if has(line, "upgrade") {
			upgrade = h.Get("Upgrade")
		}
		for name := range strings.SplitSeq(line, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{
		"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	} {
		h.Del(name)
	}
	return upgrade
}

// has reports whether a list in a header has a word.
func has(list, word string) bool {
	for part := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.TrimSpace(part), word) {
			return true
		}
	}
	return false
}

func add(to, from http.Header) {
	for name, values := range from {
		for _, value := range values {
			to.Add(name, value)
		}
	}
}
