//go:build unix

package execserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/frontend/compat/execserver"
	"github.com/settle-agent/settle/internal/frontend/compat/execserver/execservertest"
)

// An invalid message gets an error, and affects nothing else.
func TestBadFrames(t *testing.T) {
	c := client(t)
	c.Call("process/start", command(t, "p", "echo ready; while :; do sleep 1000; done"), nil)
	bad := []string{
		"{garbage",
		"[]",
		"null",
		`"x"`,
		"{}",
		`{"id":true,"method":"x"}`,
		`{"id":1.5,"method":"x"}`,
		`[{"id":7,"method":"environment/status"}]`,
		"\x00",
		"",
	}
	for _, text := range bad {
		c.Send(text)
	}
	c.Call("environment/status", object{}, nil)
	stray := c.Stray()
	if len(stray) != len(bad) {
		t.Errorf("%d errors for %d messages: %+v", len(stray), len(bad), stray)
	}
	for _, a := range stray {
		if a.Error == nil || a.Error.Code != -32600 {
			t.Errorf("%+v", a)
		}
	}
	for method, code := range map[string]int{"bogus": -32601, "initialize": -32602, "process/read": -32602, "fs/readFile": -32602, "http/request": -32601} {
		if a := c.Try(method, object{}); a.Error == nil || a.Error.Code != code {
			t.Errorf("%s: %+v", method, a.Error)
		}
	}
	for _, params := range []any{[]int{1}, "x", object{"processId": 1}, object{"processId": "p", "afterSeq": -1}} {
		if a := c.Try("process/read", params); a.Error == nil || a.Error.Code != -32602 {
			t.Errorf("%v: %+v", params, a.Error)
		}
	}
	c.Until("p", "a word", says("ready"))
}

// Nothing is done for a client that has not sent initialize, nor for one that breaks the protocol.
func TestHello(t *testing.T) {
	_, url := begin(t, execserver.Options{})
	c := execservertest.Dial(t, url, nil)
	for _, method := range []string{"environment/status", "process/start", "fs/readFile"} {
		if a := c.Try(method, object{}); a.Error == nil || a.Error.Code != -32600 {
			t.Errorf("%s: %+v", method, a)
		}
	}
	if a := c.Try("initialize", object{"clientName": "x", "resumeSessionId": "unknown"}); a.Error == nil {
		t.Error("a session that does not exist was resumed")
	}
	c.Call("initialize", object{"clientName": "x"}, nil)
	if a := c.Try("environment/status", object{}); a.Error == nil {
		t.Error("a request was served before \"initialized\"")
	}
	for _, text := range []string{`{"method":"other"}`, `{"id":1,"result":{}}`, `{"id":1,"error":{"code":1,"message":"x"}}`} {
		c := execservertest.Dial(t, url, nil)
		c.Hello("")
		c.Send(text)
		if err := c.AwaitEnd(); err == nil {
			t.Errorf("%s: the connection goes on", text)
		}
	}
}

// A client that reconnects finds its processes, and reads the missed output: each byte once, also
// bytes that were on the way when the connection was cut.
func TestResume(t *testing.T) {
	_, url := begin(t, execserver.Options{ResumeTimeout: time.Hour})
	c := execservertest.Dial(t, url, nil)
	session := c.Hello("")
	const lines = 100_000
	c.Call("process/start", command(t, "p", fmt.Sprintf("seq %d", lines)), nil)
	var got bytes.Buffer
	var after uint64
	skipped := false // the exit has a number, too, and may come before the last of the output
	for cut := 0; ; cut++ {
		var r read
		c.Call("process/read", object{"processId": "p", "afterSeq": after, "maxBytes": 100_000, "waitMs": 600_000}, &r)
		for _, chunk := range r.Chunks {
			if r.Exited && !skipped && chunk.Seq == after+2 {
				skipped, after = true, after+1
			}
			if chunk.Seq != after+1 {
				t.Fatalf("%d comes after %d", chunk.Seq, after)
			}
			after = chunk.Seq
			got.Write(chunk.Chunk)
		}
		if len(r.Chunks) == 0 && r.Closed {
			break
		}
		if cut%5 == 0 {
			c.Cut()
			c = execservertest.Dial(t, url, nil)
			if again := c.Hello(session); again != session {
				t.Fatalf("session %s, want %s", again, session)
			}
		}
	}
	var want bytes.Buffer
	for n := 1; n <= lines; n++ {
		fmt.Fprintln(&want, n)
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("read %d bytes, want %d", got.Len(), want.Len())
	}
}

// A session that has a connection which answers is not taken from it; one whose
// client does not answer is.
func TestResumeWhileAttached(t *testing.T) {
	_, url := begin(t, execserver.Options{ResumeTimeout: time.Hour, ProbeTimeout: 50 * time.Millisecond})
	silent := handshake(t, url) // reads nothing: a peer that is gone without a word looks like that
	fmt.Fprint(
		silent.conn,
		frame(`{"id":1,"method":"initialize","params":{"clientName":"x"}}`),
		frame(`{"method":"initialized"}`),
	)
	session := silent.session(t)
	if again := execservertest.Dial(t, url, nil).Hello(session); again != session {
		t.Errorf("session %s", again)
	}
	// A connection that answers, even on a slow machine.
	_, url = begin(t, execserver.Options{ResumeTimeout: time.Hour, ProbeTimeout: execservertest.Patience})
	session = execservertest.Dial(t, url, nil).Hello("")
	other := execservertest.Dial(t, url, nil)
	if a := other.Try("initialize", object{"clientName": "x", "resumeSessionId": session}); a.Error == nil ||
		!strings.Contains(a.Error.Message, "already attached") {
		t.Errorf("%+v", a)
	}
}

// C7: a session that nobody resumes ends with all that runs in it.
func TestSessionExpires(t *testing.T) {
	_, url := begin(t, execserver.Options{ResumeTimeout: -1})
	c := execservertest.Dial(t, url, nil)
	c.Hello("")
	mark := "expires-" + filepath.Base(filepath.Dir(t.TempDir())) + fmt.Sprint(os.Getpid())
	c.Call(
		"process/start",
		execservertest.Start("p", "setsid sleep 1000 & echo ready; while :; do sleep 1000; done", t.TempDir(), mark),
		nil,
	)
	c.Until("p", "a word", says("ready"))
	c.Cut()
	if left := execservertest.AwaitNone(mark, execservertest.Patience); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// A client that does not read costs no more memory than one that does; its process
// waits, and when it reads it gets everything.
func TestClientThatDoesNotRead(t *testing.T) {
	_, url := begin(t, execserver.Options{})
	const size = 100 << 20
	silent := handshake(t, url)
	start, err := json.Marshal(
		object{
			"id":     2,
			"method": "process/start",
			"params": command(t, "p", fmt.Sprintf("head -c %d /dev/zero; echo over >&2; cat", size)),
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	fmt.Fprint(
		silent.conn,
		frame(`{"id":1,"method":"initialize","params":{"clientName":"x"}}`),
		frame(`{"method":"initialized"}`),
		frame(string(start)),
	)
	other := execservertest.Dial(t, url, nil) // others are served meanwhile
	other.Hello("")
	other.Call("process/start", command(t, "q", "seq 100000"), nil)
	other.Until("q", "the end", closed)
	var after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("%d bytes more are held", grown)
	}
	got := 0
	for over := false; !over || got < size; {
		var m struct {
			Method string
			Params struct {
				Stream string
				Chunk  []byte
			}
		}
		if err := json.Unmarshal(silent.message(t), &m); err != nil {
			t.Fatal(err)
		}
		if m.Params.Stream == "stdout" {
			got += len(m.Params.Chunk)
		}
		over = over || m.Params.Stream == "stderr"
	}
	if got != size {
		t.Errorf("got %d bytes of %d", got, size)
	}
}

// raw is a client without a WebSocket library, so that it answers nothing by itself.
type raw struct {
	conn net.Conn
	in   *bufio.Reader
}

func handshake(t *testing.T, url string) *raw {
	t.Helper()
	host := strings.TrimPrefix(url, "ws://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	fmt.Fprintf(
		conn,
		"GET / HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
		host,
	)
	r := &raw{conn, bufio.NewReader(conn)}
	answer, err := http.ReadResponse(r.in, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(answer, err)
	}
	return r
}

// frame is a text, masked with zeros.
func frame(text string) string {
	if len(text) < 126 {
		return "\x81" + string([]byte{byte(len(text)) | 0x80, 0, 0, 0, 0}) + text
	}
	return "\x81\xfe" + string([]byte{byte(len(text) >> 8), byte(len(text)), 0, 0, 0, 0}) + text
}

// message returns the next text, and answers pings before it.
func (r *raw) message(t *testing.T) []byte {
	t.Helper()
	for {
		head := make([]byte, 2)
		if _, err := io.ReadFull(r.in, head); err != nil {
			t.Fatal(err)
		}
		size := int(head[1] & 0x7f)
		if more := map[int]int{126: 2, 127: 8}[size]; more > 0 {
			long := make([]byte, more)
			if _, err := io.ReadFull(r.in, long); err != nil {
				t.Fatal(err)
			}
			size = 0
			for _, b := range long {
				size = size<<8 | int(b)
			}
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(r.in, data); err != nil {
			t.Fatal(err)
		}
		switch head[0] & 0xf {
		case 1:
			return data
		case 9:
			fmt.Fprint(r.conn, "\x8a"+string([]byte{byte(size) | 0x80, 0, 0, 0, 0})+string(data))
		}
	}
}

func (r *raw) session(t *testing.T) string {
	t.Helper()
	var welcome struct {
		Result struct {
			Session string `json:"sessionId"`
		}
	}
	if err := json.Unmarshal(r.message(t), &welcome); err != nil || welcome.Result.Session == "" {
		t.Fatal(err)
	}
	return welcome.Result.Session
}

// Web pages, other host names and clients without the token are refused.
func TestWhoMayConnect(t *testing.T) {
	server, open := begin(t, execserver.Options{})
	guarded := listen(t, server, "0123456789abcdef")
	for name, test := range map[string]struct {
		url    string
		header http.Header
		want   int
	}{
		"nobody special":         {open, http.Header{}, 101},
		"a web page":             {open, http.Header{"Origin": {"http://evil.example"}}, 403},
		"a page of this machine": {open, http.Header{"Origin": {strings.Replace(open, "ws", "http", 1)}}, 403},
		"a page without origin":  {open, http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		"another name":           {open, http.Header{"Host": {"evil.example"}}, 421},
		"no token":               {guarded, http.Header{}, 401},
		"a wrong token":          {guarded, http.Header{"Authorization": {"Bearer 0123456789abcdee"}}, 401},
		"the token":              {guarded, http.Header{"Authorization": {"Bearer 0123456789abcdef"}}, 101},
		"in the address":         {guarded + "/0123456789abcdef", http.Header{}, 101},
		"wrong in the address":   {guarded + "/0123456789abcdee", http.Header{}, 401},
		"wrong in the header":    {guarded + "/0123456789abcdef", http.Header{"Authorization": {"Bearer 0123456789abcdee"}}, 401},
		"a page with the token":  {guarded + "/0123456789abcdef", http.Header{"Origin": {"http://evil.example"}}, 403},
	} {
		host, path, _ := strings.Cut(strings.TrimPrefix(test.url, "ws://"), "/")
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		if test.header.Get("Host") == "" {
			test.header.Set("Host", host)
		}
		var head bytes.Buffer
		_ = test.header.Write(&head)
		fmt.Fprintf(
			conn,
			"GET /%s HTTP/1.1\r\n%sConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
			path, head.String(),
		)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode != test.want {
			t.Errorf("%s: %v, %v; want %d", name, answer, err, test.want)
		}
		_ = conn.Close()
	}
}

// At standard streams, the end of the input ends everything, and earlier requests are answered.
func TestStreams(t *testing.T) {
	server := execserver.New(execserver.Options{Dir: "/", Version: "v"})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() { // ends with the input
		served <- server.ServeStreams(context.Background(), inR, outW)
		_ = outW.Close()
	}()
	lines := bufio.NewScanner(outR)
	mark := "streams-" + filepath.Base(filepath.Dir(t.TempDir())) + fmt.Sprint(os.Getpid())
	start, err := json.Marshal(
		object{
			"id":     2,
			"method": "process/start",
			"params": execservertest.Start("p", "echo ready; while :; do sleep 1000; done", t.TempDir(), mark),
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	go fmt.Fprintf(
		inW,
		"{\"id\":1,\"method\":\"initialize\",\"params\":{\"clientName\":\"x\"}}\nnonsense\n{\"method\":\"initialized\"}\n%s\n",
		start,
	) // ends when it is read
	var seen []string
	for lines.Scan() {
		if strings.Contains(lines.Text(), "process/output") { // may come before the answer to the start
			_ = inW.Close()
			continue
		}
		seen = append(seen, lines.Text())
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), execservertest.Patience)
	defer cancel()
	if err := server.Close(ctx, event.Shutdown, "stdin"); err != nil {
		t.Error(err)
	}
	if len(seen) < 3 || !strings.Contains(seen[0], "sessionId") || !strings.Contains(seen[1], `"id":-1`) ||
		!strings.Contains(seen[2], `"id":2`) {
		t.Errorf("%q", seen)
	}
	if left := execservertest.Survivors(mark); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
