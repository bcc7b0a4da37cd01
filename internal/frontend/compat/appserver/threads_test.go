package appserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settle-agent/settle/model/script"
)

// ids returns the ids of the listed threads.
func ids(c *client, answer map[string]any) []string {
	c.Helper()
	out := []string{}
	for _, t := range answer["data"].([]any) {
		out = append(out, field(c, t, "id").(string))
	}
	return out
}

func TestThreadsAreListed(t *testing.T) {
	c := start(t, script.New().Otherwise(script.Text("ok")))
	var all []string
	for n := range 5 {
		id := c.thread()
		c.turn(id, fmt.Sprintf("task %d", n))
		c.Seen(`"method":"turn/completed"`, n+1)
		all = append(all, id)
	}
	c.thread() // it has no input, so it is not there yet
	var paged []string
	p := map[string]any{"limit": 2, "sortDirection": "asc"}
	for {
		page := c.Must("thread/list", p)
		paged = append(paged, ids(c, page)...)
		if page["nextCursor"] == nil {
			break
		}
		p["cursor"] = page["nextCursor"]
	}
	c.diff("in pages", all, paged)
	c.refuse(-32600, "cursor", "thread/list", map[string]any{"cursor": "-1"})
	c.diff("by a word", all[3:4], ids(c, c.Must("thread/list", map[string]any{"searchTerm": "TASK 3"})))
	c.diff("elsewhere", []string{}, ids(c, c.Must("thread/list", map[string]any{"cwd": []string{"/elsewhere"}})))
	c.diff("here", 5, len(ids(c, c.Must("thread/list", map[string]any{"cwd": c.Dir}))))
	c.diff("without some", all[:1], ids(c, c.Must("thread/list", map[string]any{"excludedThreadIds": all[1:]})))
	loaded := c.Must("thread/loaded/list", nil)["data"].([]any)
	c.diff("loaded", 6, len(loaded))
}

func TestArchive(t *testing.T) {
	c := start(t, script.New(script.Text("ok")).Otherwise(script.Stall()))
	id := c.thread()
	c.turn(id, "go")
	c.Seen(`"method":"turn/completed"`, 1)
	c.turn(id, "and on")
	this := map[string]any{"threadId": id}
	c.Must("thread/name/set", map[string]any{"threadId": id, "name": " A  name "})
	c.refuse(-32600, "must not be empty", "thread/name/set", map[string]any{"threadId": id, "name": " "})
	c.Must("thread/archive", this)
	c.Seen(`"status":"interrupted"`, 1) // archiving ends the running turn
	c.Seen("thread/archived", 1)
	c.diff("listed", []string{}, ids(c, c.Must("thread/list", nil)))
	c.diff("listed as archived", []string{id}, ids(c, c.Must("thread/list", map[string]any{"archived": true})))
	c.refuse(-32600, "is archived", "thread/resume", this)
	c.refuse(-32600, "thread not found", "turn/start", map[string]any{"threadId": id, "input": say("x")})
	c.diff("its name", "A name", field(c, c.Must("thread/unarchive", this), "thread.name"))
	c.refuse(-32600, "no archived rollout found", "thread/unarchive", this)
	c.diff("its turns", 2, len(field(c, c.Must("thread/resume", this), "thread.turns").([]any)))
	for _, wrong := range []string{"missing", "../../etc/passwd", ""} {
		for _, method := range []string{"thread/read", "thread/archive", "thread/resume", "thread/name/set"} {
			c.refuse(-32600, "no rollout found", method, map[string]any{"threadId": wrong, "name": "x"})
		}
		c.refuse(-32600, "no archived rollout found", "thread/unarchive", map[string]any{"threadId": wrong})
	}
}

// A restarted client can be faster than the end of its earlier process.
func TestResumeAtOnce(t *testing.T) {
	data := t.TempDir()
	first := serve(t, script.New(script.Text("one")), data)
	hello := map[string]any{"clientInfo": map[string]any{"name": "test", "version": "1"}}
	first.Must("initialize", hello)
	id := first.thread()
	tried := make(chan struct{})
	second := serve(t, script.New(script.Text("two")), data)
	second.Must("initialize", hello)
	second.block = sync.OnceFunc(func() { close(tried) })
	resumed := second.Send("thread/resume", map[string]any{"threadId": id})
	<-tried
	first.End()
	if err := resumed.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	second.turn(id, "go")
	second.Seen(`"delta":"two"`, 1)
}

// A client that resumes a thread during a turn receives every change exactly once: changes in the
// response do not come again, and nothing is left out, even if the client lags behind.
func TestResumeWhileItStreams(t *testing.T) {
	deltas := make([]string, 1500)
	for n := range deltas {
		deltas[n] = strings.Repeat("words,", 200)
	}
	streamed, hold := make(chan struct{}), make(chan struct{})
	c := start(
		t, script.New(script.Turn(script.Text(deltas...), script.Do(func() { close(streamed) }), script.Wait(hold))),
	)
	thread := c.thread()
	c.turn(thread, "go")
	c.Seen("words,", 1) // else the answer may be ahead of all of them, and rightly
	release := c.Hold() // the client does not read
	<-streamed
	resumed := c.Send("thread/resume", map[string]any{"threadId": thread})
	release()
	if err := resumed.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	close(hold)
	c.Seen(`"method":"turn/completed"`, 1)
	c.Must("thread/loaded/list", nil)  // by its answer, the rest of that has come as well
	all := strings.Join(c.Lines(), "") // long lines came in pieces
	_, all, _ = strings.Cut(all, fmt.Sprintf(`{"id":%d,`, resumed.ID))
	answer, all, _ := strings.Cut(all, `{"method":`)
	after, _, _ := strings.Cut(all, `"turn/completed"`) // where the item ended before the answer
	after, _, _ = strings.Cut(after, `"item/completed"`)
	answered, told := strings.Count(answer, "words,"), strings.Count(after, "words,")
	if answered == 0 || answered+told != 1500*200 {
		t.Errorf("the answer has %d, and %d came after it", answered, told)
	}
}

// After the answer to an unsubscribe, the client receives nothing of the turn, even if it lags
// behind.
func TestNothingIsSaidAfterUnsubscribe(t *testing.T) {
	deltas := make([]string, 1500)
	for n := range deltas {
		deltas[n] = strings.Repeat("words,", 200)
	}
	streamed, hold, later := make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
	m := script.New(script.Turn(script.Text(deltas...), script.Do(func() { close(streamed) }), script.Wait(hold)))
	c := start(t, m.Otherwise(script.Text("ok")))
	thread := c.thread()
	c.turn(thread, "go")
	release := c.Hold() // the client does not read
	<-streamed
	c.block = func() {
		select {
		case later <- struct{}{}:
		default:
		}
	}
	left := c.Send("thread/unsubscribe", map[string]any{"threadId": thread})
	c.Send("turn/start", map[string]any{"threadId": thread, "input": say("and then")})
	<-later // the first of these has been seen to
	release()
	if err := left.Wait(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	close(hold)
	c.Seen(`"method":"thread/closed"`, 1)
	_, after, _ := strings.Cut(
		strings.Join(c.Lines(), ""),
		fmt.Sprintf(`{"id":%d,`, left.ID),
	) // long lines came in pieces
	if after == "" || strings.Contains(after, "words,") || strings.Contains(after, "turn/completed") {
		t.Errorf("after the answer came %.1000s", after)
	}
}

// If another process has a thread open, the error says so in words that clients know.
func TestHeldElsewhere(t *testing.T) {
	data := t.TempDir()
	first := serve(t, script.New(), data)
	hello := map[string]any{"clientInfo": map[string]any{"name": "test", "version": "1"}}
	first.Must("initialize", hello)
	id := first.thread()
	second := serve(t, script.New(), data, func(o *Options) { o.Sessions.LockTimeout = time.Nanosecond })
	second.Must("initialize", hello)
	second.refuse(-32600, "thread "+id+" already has an active writer", "thread/resume", map[string]any{"threadId": id})
}

func TestEphemeral(t *testing.T) {
	c := start(t, script.New(script.Text("ok")))
	id := c.thread(map[string]any{"ephemeral": true})
	c.turn(id, "go")
	c.Seen(`"method":"turn/completed"`, 1)
	c.diff(
		"while it is loaded", true, field(c, c.Must("thread/read", map[string]any{"threadId": id}), "thread.ephemeral"),
	)
	c.diff("listed", []string{}, ids(c, c.Must("thread/list", nil)))
	c.Must("thread/archive", map[string]any{"threadId": id})
	c.refuse(-32600, "no rollout found", "thread/read", map[string]any{"threadId": id})
}

// The client's instructions for a thread reach the model.
func TestInstructions(t *testing.T) {
	c := start(t, script.New().Otherwise(script.Text("ok")))
	c.turn(c.thread(map[string]any{"baseInstructions": "You are short.", "developerInstructions": "Say less."}), "go")
	c.Seen(`"method":"turn/completed"`, 1)
	c.diff("the prompt", "You are short.\n\nSay less.", c.model.Requests()[0].System)
}

// A thread works where it was started, and goes on there, unless it is resumed
// elsewhere.
func TestDirectories(t *testing.T) {
	c := start(t, script.New().Otherwise(script.Text("ok")))
	here, there := t.TempDir(), t.TempDir()
	id := c.thread(map[string]any{"cwd": here})
	c.turn(id, "go", map[string]any{"cwd": here})
	c.Seen(`"method":"turn/completed"`, 1)
	this := map[string]any{"threadId": id}
	c.Must("thread/unsubscribe", this)
	c.diff("resumed", here, c.Must("thread/resume", this)["cwd"])
	c.Must("thread/unsubscribe", this)
	c.diff("resumed elsewhere", there, c.Must("thread/resume", map[string]any{"threadId": id, "cwd": there})["cwd"])
	c.diff("as it is read", there, field(c, c.Must("thread/read", this), "thread.cwd"))
}

func TestTurnStartTakesEveryInput(t *testing.T) {
	c := start(t, script.New().Otherwise(script.Text("ok")))
	pixel := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	raw, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		t.Fatal(err)
	}
	c.file("p.png", string(raw))
	id := c.thread()
	start := func(parts ...any) map[string]any { return map[string]any{"threadId": id, "input": parts} }
	c.Must("turn/start", start(
		map[string]any{
			"type": "text",
			"text": "Look at",
		},
		map[string]any{"type": "mention", "name": "it", "path": "/p"},
		map[string]any{
			"type": "image",
			"url":  "data:image/png;base64," + pixel,
		},
		map[string]any{"type": "localImage", "path": "p.png"},
	))
	c.Seen(`"method":"turn/completed"`, 1)
	raw, err = json.Marshal(c.Must("thread/read", map[string]any{"threadId": id, "includeTurns": true}))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), `Look at\n[@it](/p)`) ||
		strings.Count(string(raw), "data:image/png;base64,"+pixel) != 2 {
		t.Errorf("the thread is %s", raw)
	}
	for words, part := range map[string]any{
		"send it as a data URL": map[string]any{"type": "image", "url": "https://example.com/p.png"},
		"not base64":            map[string]any{"type": "image", "url": "data:image/png,x"},
		"cannot read the image": map[string]any{"type": "localImage", "path": "missing.png"},
		"does not take":         map[string]any{"type": "audio", "url": "data:audio/wav;base64,AA=="},
		"empty":                 map[string]any{"type": "text", "text": " "},
	} {
		c.refuse(-32600, words, "turn/start", start(part))
	}
	c.refuse(
		-32600,
		"start another thread there",
		"turn/start",
		map[string]any{"threadId": id, "input": say("x"), "cwd": "/"},
	)
	c.refuse(-32600, "there is no directory", "thread/start", map[string]any{"cwd": filepath.Join(c.Dir, "missing")})
}
