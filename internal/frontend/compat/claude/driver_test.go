package claude

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// served is a client of a driver that runs in the test.
type served struct {
	*testing.T
	in     *io.PipeWriter
	stops  chan stdio.Stop
	code   chan int
	output chan map[string]any // each message, in order
	data   string

	mu     sync.Mutex // guards the fields below
	stderr strings.Builder
}

// serve runs a driver with a model that follows the steps.
func serve(t *testing.T, change func(*Config), steps ...script.Step) *served {
	t.Helper()
	return serveModel(t, change, script.New(steps...))
}

func serveModel(t *testing.T, change func(*Config), m *script.Model) *served {
	t.Helper()
	s := &served{
		T:      t,
		stops:  make(chan stdio.Stop, 4),
		code:   make(chan int, 1),
		output: make(chan map[string]any, 1000),
		data:   t.TempDir(),
	}
	// A file takes the place of the folder of control sockets: virtual time does not pass while a
	// socket is open.
	if err := os.WriteFile(filepath.Join(s.data, "hosts"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := clienttest.Place{Data: s.data, Dir: t.TempDir()}
	sessions := p.Sessions(m, "claude")
	sessions.Base.Attended = false
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	s.in = toServer
	c := Config{
		Options: Options{
			Input:  StreamJSON,
			Output: StreamJSON,
		}, Dir: p.Dir, Stdin: fromClient, Stdout: toClient, Stderr: s, Stops: s.stops, States: true,
		Sessions: sessions,
	}
	if change != nil {
		change(&c)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends with the driver
		s.code <- Serve(ctx, c)
		_ = toClient.Close()
		_ = fromClient.Close()
	}()
	go func() { // ends with the driver's output
		defer close(s.output)
		lines := bufio.NewScanner(fromServer)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var m map[string]any
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				m = map[string]any{"type": "bad", "line": lines.Text()}
			}
			s.output <- m // room for all that a test says
		}
	}()
	t.Cleanup(func() {
		_ = toServer.Close()
		cancel()
		for range s.output { // until the driver has ended
		}
		p.CheckLogs(t)
	})
	return s
}

// Write takes the output on standard error.
func (s *served) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.Write(p)
}

// errors returns the output on standard error.
func (s *served) errors() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.String()
}

// say sends lines.
func (s *served) say(lines ...string) {
	s.Helper()
	if _, err := io.WriteString(s.in, strings.Join(lines, "\n")+"\n"); err != nil {
		s.Fatal(err)
	}
}

func user(text, uuid string) string {
	return fmt.Sprintf(
		`{"type":"user","message":{"role":"user","content":%q},"parent_tool_use_id":null,"session_id":"","uuid":%q}`,
		text, uuid,
	)
}

func control(id, request string) string {
	return fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":%s}`, id, request)
}

// until returns the messages up to the first of a type, or of a type and
// subtype: "system/init".
func (s *served) until(kind string) (out []map[string]any) {
	s.Helper()
	timer := time.NewTimer(clienttest.Patience)
	defer timer.Stop()
	for {
		select {
		case m, ok := <-s.output:
			if !ok {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.Fatalf("no %s came; stderr:\n%s", kind, s.stderr.String())
			}
			out = append(out, m)
			if is(m, kind) {
				return out
			}
		case <-timer.C:
			s.Fatalf("no %s came", kind)
		}
	}
}

func is(m map[string]any, kind string) bool {
	kind, subtype, both := strings.Cut(kind, "/")
	return m["type"] == kind && (!both || m["subtype"] == subtype)
}

// next returns the first message of a type from now on.
func (s *served) next(kind string) map[string]any {
	s.Helper()
	all := s.until(kind)
	return all[len(all)-1]
}

// exit waits for the end of the driver, and returns its exit code.
func (s *served) exit() int {
	s.Helper()
	select {
	case code := <-s.code:
		return code
	case <-time.After(clienttest.Patience):
		s.Fatal("the driver did not end")
		return 0
	}
}

const (
	uuid1 = "11111111-1111-4111-8111-111111111111"
	uuid2 = "22222222-2222-4222-8222-222222222222"
	uuid3 = "33333333-3333-4333-8333-333333333333"
)

// Prompts that come while a turn runs wait, and each has its result; the end of
// the input waits for them.
func TestEachPromptHasItsResult(t *testing.T) {
	s := serve(t, nil, script.Text("First."), script.Fail(model.NewError(model.ErrAuth, "no")), script.Text("Third."))
	s.say(user("one", uuid1), user("two", uuid2), user("three", uuid3))
	_ = s.in.Close()
	for _, want := range []string{"success " + uuid1, "error_during_execution " + uuid2, "success " + uuid3} {
		r := s.next("result")
		if got := fmt.Sprint(r["subtype"], " ", r["user_message_uuid"]); got != want {
			t.Errorf("result %s, want %s", got, want)
		}
	}
	if m := s.next("system/session_state_changed"); m["state"] != "idle" {
		t.Errorf("at the end the session is %v", m["state"])
	}
	if code := s.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The exit code is the code of the last turn.
func TestExitCodeOfAFailure(t *testing.T) {
	s := serve(t, nil, script.Text("First."), script.Fail(model.NewError(model.ErrAuth, "no")))
	s.say(user("one", uuid1), user("two", uuid2))
	_ = s.in.Close()
	s.next("result")
	if m := s.next("assistant"); m["error"] == nil {
		t.Errorf("the failure is told as %v", m)
	}
	if r := s.next("result/error_during_execution"); r["is_error"] != true || r["terminal_reason"] != "api_error" {
		t.Errorf("result %v", r)
	}
	if code := s.exit(); code != stdio.CodeFailed {
		t.Errorf("exit code %d", code)
	}
}

// An interrupt that is written right behind its prompt is not lost, and covers
// nothing that comes after it (C10).
func TestInterruptInOrder(t *testing.T) {
	answer := script.Answer(func(r model.Request) script.Step { // the first prompt may be over before it is sent
		if strings.Contains(fmt.Sprintf("%+v", r.Input), "second") {
			return script.Text("Second.")
		}
		return script.Turn(script.Text("I think"), script.Stall())
	})
	for n := range 50 {
		s := serve(t, nil, answer, answer)
		s.say(
			user([]string{"one", "/no__one"}[n%2], uuid1),
			control("i1", `{"subtype":"interrupt"}`),
			control("i2", `{"subtype":"interrupt"}`),
			user("second", uuid2),
		)
		_ = s.in.Close()
		r := s.next("result")
		if r["user_message_uuid"] != uuid1 || r["is_error"] != true {
			t.Fatalf("result %v", r)
		}
		answered, results := 0, 0
		for results == 0 {
			m := <-s.output
			switch {
			case m == nil:
				t.Fatal("the driver ended")
			case m["type"] == "control_response":
				answered++
			case m["type"] == "result":
				results++
				if m["subtype"] != "success" || m["user_message_uuid"] != uuid2 {
					t.Fatalf("the second result is %v", m)
				}
			}
		}
		if answered != 2 {
			t.Fatalf("%d answers before the second result, want 2", answered)
		}
		if code := s.exit(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

// A prompt with priority "now" replaces the running turn.
func TestPromptForNow(t *testing.T) {
	s := serve(
		t,
		func(c *Config) { c.Partial = true },
		script.Turn(script.Text("I think"), script.Stall()),
		script.Text("Now."),
		script.Text("Then."),
	)
	s.say(user("one", uuid1), user("two", uuid2))
	s.until("stream_event")
	s.say(strings.Replace(user("three", uuid3), `"type":"user"`, `"type":"user","priority":"now"`, 1))
	_ = s.in.Close()
	for _, want := range []string{uuid1, uuid3, uuid2} {
		r := s.next("result")
		if r["user_message_uuid"] != want || (want == uuid1) != (r["is_error"] == true) {
			t.Errorf("result %v, want that of %s", r, want)
		}
	}
	if got := s.exit(); got != 0 {
		t.Errorf("exit code %d", got)
	}
}

// A stop ends the turn, reports its end, and answers the prompts that did not begin.
func TestStop(t *testing.T) {
	s := serve(t, nil, script.Turn(script.Text("I think"), script.Stall()))
	s.say(user("one", uuid1), user("two", uuid2))
	s.until("system/init")
	s.stops <- stdio.Stop{Reason: event.Shutdown, By: "signal:SIGTERM", Code: 143}
	if r := s.next("result"); r["user_message_uuid"] != uuid1 || !strings.Contains(fmt.Sprint(r["errors"]), "SIGTERM") {
		t.Errorf("result %v", r)
	}
	if r := s.next("result"); r["user_message_uuid"] != uuid2 ||
		!strings.Contains(fmt.Sprint(r["errors"]), "not started: ended by SIGTERM") {
		t.Errorf("result %v", r)
	}
	if code := s.exit(); code != 143 {
		t.Errorf("exit code %d", code)
	}
}

// Unusable lines are reported, and later lines work.
func TestBadLines(t *testing.T) {
	s := serve(t, nil, script.Text("Hello."))
	s.say(
		"nonsense", `{"type":"user","message":{"content":[{"type":"image","source":{"type":"url","url":"x"}}]}}`,
		`{"type":"user","message":{"content":" "}}`,
	)
	for range 3 {
		s.next("result/error_during_execution")
	}
	s.say(`{"type":"mystery"}`, control("c1", `{"subtype":"mystery"}`), control("c2", `7`))
	s.next("system/informational")
	for _, want := range []string{"unsupported_request", "invalid_request"} {
		m := s.next("control_response")["response"].(map[string]any)
		if m["subtype"] != "error" || m["error_code"] != want {
			t.Errorf("answered %v", m)
		}
	}
	s.say(user("hello", uuid1))
	_ = s.in.Close()
	s.next("result/success")
	if code := s.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// An unusable prompt has its result in the order of the prompts: not within the turn of an earlier
// prompt.
func TestRefusalsKeepTheOrder(t *testing.T) {
	s := serve(
		t,
		func(c *Config) { c.Partial = true },
		script.Turn(script.Text("I think"), script.Stall()),
		script.Text("Last."),
	)
	s.say(user("one", uuid1))
	s.until("stream_event") // or the second prompt would get this turn's answer
	s.say(
		"nonsense",
		user(" ", uuid2),
		`{"type":"user","message":{"content":7}}`,
		user("three", uuid3),
		control("c1", `{"subtype":"interrupt"}`),
	)
	_ = s.in.Close()
	for _, want := range []string{uuid1 + " interrupted", " nonsense", uuid2 + " empty", " content", uuid3 + " <nil>"} {
		id, why, _ := strings.Cut(want, " ")
		r := s.next("result")
		if got, _ := r["user_message_uuid"].(string); got != id ||
			!strings.Contains(fmt.Sprint(r["errors"]), strings.Replace(why, "nonsense", "invalid character 'o'", 1)) {
			t.Errorf("result %v, want %q", r, want)
		}
	}
	if code := s.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The error of an invalid line is in the words of the protocol.
func TestErrorsInTheClientsWords(t *testing.T) {
	for line, want := range map[string]string{
		`[1]`:                          "a line of standard input: it has the wrong type (array)",
		`{"type":"user","uuid":3}`:     `"uuid" has the wrong type (number)`,
		`{"type":"user"}`:              "the message is missing",
		`{"type":"user","message":{}}`: "the message's content is missing",
		`{"type":"user","message":{"content":3}}`:                                "the message's content: it has the wrong type (number)",
		`{"type":"user","message":{"content":[{"type":"text","text":{"a":1}}]}}`: `"text" has the wrong type (object)`,
		`{"type":"user"`: "unexpected end of JSON input",
	} {
		var got error
		_ = read(strings.NewReader(line+"\n"), func(m incoming) bool { // the end
			if got = m.bad; got == nil {
				_, got = content(m.Message)
			}
			return true
		})
		if got == nil || !strings.HasSuffix(got.Error(), want) {
			t.Errorf("%s: %v, want %q", line, got, want)
		}
	}
}

// A session that cannot be opened fails each prompt, with the reason. A restarted client can be
// faster than the end of its earlier process.
func TestSessionThatIsStillHeld(t *testing.T) {
	s := serve(t, func(c *Config) {
		c.Resume = uuid3
		c.Sessions.LockTimeout = time.Minute
		log, _, err := journal.Open(
			t.Context(),
			journal.Options{Dir: c.Sessions.Base.Getenv("SETTLE_DATA_DIR"), Session: uuid3},
		)
		if err != nil {
			t.Fatal(err)
		}
		err = log.Update(func(event.State) []event.Event {
			return []event.Event{
				{By: "host", Data: event.SessionOpened{Settle: "x", Dir: c.Dir}},
				{By: "host", Data: event.SessionClosed{}},
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(200*time.Millisecond, func() { // it was refused by then, most likely
			if err := log.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}, script.Text("One."))
	s.say(user("one", uuid1))
	_ = s.in.Close()
	s.next("result/success")
	s.exit()
}

func TestSessionThatCannotBeOpened(t *testing.T) {
	s := serve(t, func(c *Config) { c.Resume = uuid1 })
	s.say(control("c1", `{"subtype":"initialize"}`), user("hello", uuid2))
	_ = s.in.Close()
	if m := s.next("control_response")["response"].(map[string]any); m["subtype"] != "error" {
		t.Errorf("initialize was answered with %v", m)
	}
	if r := s.next("result/error_during_execution"); !strings.Contains(
		fmt.Sprint(r["errors"]), "no conversation found with session ID: "+uuid1,
	) {
		t.Errorf("result %v", r)
	}
	if code := s.exit(); code != stdio.CodeUsage {
		t.Errorf("exit code %d", code)
	}
}

// A beginning that several sessions have names none of them, and neither does the beginning of a name that
// a person chose.
func TestResumeByBeginning(t *testing.T) {
	const one, two = "cafe1ef4-12aa-7000-8000-000000000001", "cafe1ef4-12ab-7000-8000-000000000002"
	for name, want := range map[string]string{
		"cafe": `session "cafe" is ambiguous: cafe1ef4-12aa, cafe1ef4-12ab`,
		"ci":   "no conversation found with session ID: ci",
	} {
		s := serve(t, func(c *Config) {
			c.Resume = name
			for _, id := range []string{one, two, "ci-2"} {
				log, _, err := journal.Open(
					t.Context(),
					journal.Options{Dir: c.Sessions.Base.Getenv("SETTLE_DATA_DIR"), Session: id},
				)
				if err == nil {
					err = log.Close(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		})
		s.say(user("hello", uuid2))
		_ = s.in.Close()
		if r := s.next("result/error_during_execution"); !strings.Contains(fmt.Sprint(r["errors"]), want) {
			t.Errorf("%s: result %v", name, r)
		}
		if code := s.exit(); code != stdio.CodeUsage {
			t.Errorf("%s: exit code %d", name, code)
		}
	}
}

// A message that needs no answer is sent with the next prompt.
func TestAsides(t *testing.T) {
	asked := make(chan model.Request, 1)
	s := serve(t, nil, script.Answer(func(r model.Request) script.Step {
		asked <- r
		return script.Text("Both.")
	}))
	s.say(
		strings.Replace(user("by the way", uuid1), `"type":"user"`, `"type":"user","shouldQuery":false`, 1),
		user("hello", uuid2),
	)
	_ = s.in.Close()
	s.next("result/success")
	if r := fmt.Sprintf("%+v", <-asked); !strings.Contains(r, "by the way") || !strings.Contains(r, "hello") {
		t.Errorf("asked %s", r)
	}
	s.exit()
}

// The same message twice is run once.
func TestMessageTwice(t *testing.T) {
	s := serve(t, nil, script.Text("Once."))
	s.say(user("hello", uuid1))
	s.next("result/success")
	s.say(user("hello", uuid1))
	s.next("system/informational")
	_ = s.in.Close()
	if code := s.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A prompt that waits can be taken back, and gets no result.
func TestPromptTakenBack(t *testing.T) {
	s := serve(t, func(c *Config) { c.Partial = true }, script.Turn(script.Text("I think"), script.Stall()))
	s.say(user("one", uuid1), user("two", uuid2), user("three", uuid3))
	s.until("stream_event")
	for id, want := range map[string]bool{uuid2: true, "none": false} {
		s.say(control("c", fmt.Sprintf(`{"subtype":"cancel_async_message","message_uuid":%q}`, id)))
		if m := s.next("control_response")["response"].(map[string]any)["response"]; fmt.Sprint(
			m,
		) != fmt.Sprintf("map[cancelled:%t]", want) {
			t.Errorf("%s: answered %v", id, m)
		}
	}
	s.say(control("i", `{"subtype":"interrupt","cancel_queued":true}`))
	_ = s.in.Close()
	if r := s.next("result"); r["user_message_uuid"] != uuid1 {
		t.Errorf("result %v", r)
	}
	m := s.next("control_response")["response"].(map[string]any)["response"].(map[string]any)
	if fmt.Sprint(m["cancelled"], m["still_queued"], m["reason"]) != fmt.Sprintf("[%s] []interrupted", uuid3) {
		t.Errorf("interrupt was answered with %v", m)
	}
	if code := s.exit(); code != stdio.CodeFailed {
		t.Errorf("exit code %d", code)
	}
	for m := range s.output {
		if m["type"] == "result" {
			t.Errorf("another result: %v", m)
		}
	}
}

// Settings of the client's change the next turn.
func TestSettingsWhileItRuns(t *testing.T) {
	s := serve(t, nil, script.Text("One."), script.Text("Two."))
	s.say(user("one", uuid1))
	if m := s.next("system/init"); m["permissionMode"] != "default" {
		t.Errorf("init %v", m)
	}
	s.next("result/success")
	s.say(
		control(
			"c",
			`{"subtype":"apply_flag_settings","settings":{"permissions":{"defaultMode":"plan"},"outputStyle":"x"}}`,
		),
		user("two", uuid2),
	)
	_ = s.in.Close()
	if m := s.next("system/informational"); !strings.Contains(fmt.Sprint(m["content"]), "outputStyle") {
		t.Errorf("told %v", m)
	}
	if m := s.next("system/init"); m["permissionMode"] != "plan" {
		t.Errorf("init %v", m)
	}
	s.next("result/success")
	s.exit()
}

// The client learns that a directory with settle's own files is added for reading only.
func TestAddedDirectoriesWithProtectedFiles(t *testing.T) {
	s := serve(t, func(c *Config) {
		c.AddDirs, c.Mode = []string{c.Dir}, modeEdits // the user's home directory
	}, script.Text("One."), script.Text("Two."))
	s.say(user("one", uuid1))
	told := fmt.Sprint(s.next("system/informational")["content"])
	if !strings.Contains(told, "it contains your home directory") {
		t.Errorf("told %v", told)
	}
	s.next("result/success")
	settings := `{"permissions":{"additionalDirectories":["/"]}}`
	s.say(control("c", `{"subtype":"apply_flag_settings","settings":`+settings+`}`), user("two", uuid2))
	_ = s.in.Close()
	if m := s.next("system/informational"); !strings.Contains(fmt.Sprint(m["content"]), "the root of the file system") {
		t.Errorf("told %v", m)
	}
	s.next("result/success")
	s.exit()
}

// A note reports that prompts of an earlier run are sent with the next prompt.
func TestPromptsOfAnEarlierRun(t *testing.T) {
	var dataDir, dir string
	s := serve(t, func(c *Config) {
		c.Partial, c.SessionID, dir = true, uuid3, c.Dir
		dataDir = c.Sessions.Base.Getenv("SETTLE_DATA_DIR")
	}, script.Text("One."))
	s.say(user("one", uuid1))
	_ = s.in.Close()
	s.next("result/success")
	s.exit()
	log, _, err := journal.Open(t.Context(), journal.Options{Dir: dataDir, Session: uuid3})
	if err != nil {
		t.Fatal(err)
	}
	err = log.Update(func(event.State) []event.Event {
		return []event.Event{
			{By: "host", Data: event.SessionOpened{Settle: "x", Dir: dir}},
			{By: by, Data: event.InputAccepted{Input: "n1", Text: "left behind"}},
			{By: "host", Data: event.InputHeld{Input: "n1", Reason: event.Shutdown}},
			{By: "host", Data: event.SessionClosed{}},
		}
	})
	if err = errors.Join(err, log.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	again := serve(t, func(c *Config) {
		c.Resume, c.Dir = uuid3, dir
		base := c.Sessions.Settings
		c.Sessions.Settings = func(dir string, given map[string]string) (*config.Resolved, error) {
			given["data_dir"] = dataDir
			return base(dir, given)
		}
	}, script.Text("Both."))
	again.say(user("two", uuid2))
	_ = again.in.Close()
	if m := again.next("system/informational"); !strings.Contains(
		fmt.Sprint(m["content"]), "without an answer from an earlier run: 1",
	) {
		t.Errorf("told %v", m)
	}
	if r := again.next("result/success"); r["user_message_uuid"] != uuid2 || r["session_id"] != uuid3 {
		t.Errorf("result %v", r)
	}
	again.exit()
}
