package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.yaml.in/yaml/v3"
)

// step is one of the action's, as GitHub's runner reads it.
type step struct {
	ID, Name, If, Shell, Run, Uses string
	Env                            map[string]string
	Dir                            string `yaml:"working-directory"`
}

// job is the environment of a CI job: a checkout, a scratch folder, the release's files behind a
// URL, and a model that follows a script.
type job struct {
	t                     *testing.T
	work, scratch, model  string
	url, path             string
	env                   []string
	installFails          bool   // as the test expects
	pull                  string // the number of the pull request; empty for an event without one
	checkout              string // of the action, with the keys that it trusts
	notes                 chan string
	outputs, summary, add string
}

func newJob(t *testing.T, turns string) *job {
	t.Helper()
	j := &job{t: t, work: t.TempDir(), scratch: t.TempDir(), pull: "7", notes: make(chan string, 9)}
	j.url, j.env = secure(t, http.FileServer(http.Dir(dist(t))))
	j.model = fakeModel(t, turns)
	key, err := signing()
	if err != nil {
		t.Fatal(err)
	}
	j.checkout = t.TempDir()
	j.trust(key.line)
	bin := filepath.Join(j.scratch, "bin")
	j.path = bin + ":" + os.Getenv("PATH")
	j.outputs, j.summary, j.add = filepath.Join(
		j.scratch,
		"outputs",
	), filepath.Join(
		j.scratch,
		"summary",
	), filepath.Join(
		j.scratch,
		"path",
	)
	// gh is the one program of the runner that cannot be had here: it has to be signed in.
	gh := "#!/bin/sh\nif [ \"$1\" = api ]; then shift; echo \"$@\" >>\"" + j.scratch + "/api\"; case \"$*\" in *line=9\\ *) exit 1;; esac; exit 0; fi\n[ \"$1 $2\" = 'pr comment' ] && [ \"$GH_TOKEN\" = token ] || exit 1\nwhile [ \"$1\" != --body-file ]; do echo \"$1\"; shift; done >\"" + j.scratch + "/gh\"; cp \"$2\" \"" + j.scratch + "/comment\"\n"
	if err := errors.Join(os.Mkdir(bin, 0o755), os.WriteFile(filepath.Join(bin, "gh"), []byte(gh), 0o755)); err != nil {
		t.Fatal(err)
	}
	return j
}

// trust has the action's commit trust one key, or with "" none.
func (j *job) trust(line string) {
	j.t.Helper()
	if err := write(filepath.Join(j.checkout, keysFile), []byte("# keys\n"+line+"\n"), 0o644); err != nil {
		j.t.Fatal(err)
	}
}

// fakeModel starts the release's own.
func fakeModel(t *testing.T, turns string) (url string) {
	t.Helper()
	dir := t.TempDir()
	run(
		t,
		dir,
		nil,
		"tar",
		"-xzf",
		filepath.Join(dist(t), "settle_"+version+"_linux_amd64.tar.gz"),
		"--strip-components=1",
	)
	scenario := filepath.Join(dir, "scenario.json")
	if err := os.WriteFile(scenario, []byte(`{"turns": [`+turns+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "settle"), "fake-model", "--scenario", scenario, "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	line := make([]byte, 256)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(line[:n]))[2]
}

// script runs a step's script as the runner does, and returns its exit code.
func (j *job) script(dir string, env []string, shell ...string) int {
	j.t.Helper()
	cmd := exec.CommandContext(j.t.Context(), shell[0], shell[1:]...)
	cmd.Dir = dir
	cmd.Env = slices.Concat([]string{"PATH=" + j.path, "HOME=" + j.scratch, "OPENAI_API_KEY=k"}, j.env, env)
	out, err := cmd.CombinedOutput()
	j.t.Logf("%s", out)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		j.t.Fatal(err)
	}
	return 0
}

var expression = regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`)

// action runs the action with inputs, and returns how the turn or the installation ended.
func (j *job) action(inputs map[string]string) (code int) {
	j.t.Helper()
	raw, err := os.ReadFile("../action.yml")
	if err != nil {
		j.t.Fatal(err)
	}
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct{ Steps []step }
	}
	if err := yaml.Unmarshal(raw, &action); err != nil {
		j.t.Fatal(err)
	}
	known := map[string]string{
		"runner.temp":                      j.scratch,
		"github.token":                     "token",
		"github.event.pull_request.number": j.pull,

		"github.event.pull_request.head.sha": "abc", "steps.run.outcome": "skipped",
	}
	value := func(text string) string {
		return expression.ReplaceAllStringFunc(text, func(e string) string {
			name := expression.FindStringSubmatch(e)[1]
			got, ok := known[name]
			if !ok {
				j.t.Errorf("no runner knows %s", e)
			}
			return got
		})
	}
	for name, in := range action.Inputs {
		known["inputs."+name] = value(in.Default)
	}
	for name, in := range inputs {
		if _, ok := action.Inputs[name]; !ok {
			j.t.Fatalf("there is no input %s", name)
		}
		known["inputs."+name] = in
	}
	for _, s := range action.Runs.Steps {
		if s.Uses != "" {
			continue // actions/upload-artifact
		}
		if strings.Contains(s.Run, "${{") || s.Shell != "bash" {
			j.t.Errorf("%q: what is between ${{ }} becomes a part of the script", s.Name)
		}
		isLeftOut := code != 0 && !strings.Contains(s.If, "always()")
		if isLeftOut || s.Name == "Install settle" && known["inputs.version"] == "" {
			continue
		}
		env := []string{
			"GITHUB_ACTION_PATH=" + j.checkout,
			"RUNNER_TEMP=" + j.scratch,
			"GITHUB_REPOSITORY=o/r",
			"GITHUB_OUTPUT=" + j.outputs,
			"GITHUB_STEP_SUMMARY=" + j.summary,
			"GITHUB_PATH=" + j.add,
		}
		for name, text := range s.Env {
			env = append(env, name+"="+value(text))
		}
		got := j.script(
			filepath.Join(j.work, value(s.Dir)),
			env,
			"bash",
			"--noprofile",
			"--norc",
			"-eo",
			"pipefail",
			"-c",
			s.Run,
		)
		if more, err := os.ReadFile(j.add); err == nil {
			j.path = strings.ReplaceAll(
				strings.TrimSpace(string(more)),
				"\n",
				":",
			) + ":" + os.Getenv(
				"PATH",
			) + ":" + filepath.Join(
				j.scratch,
				"bin",
			)
		}
		switch {
		case s.ID == "run":
			code, known["steps.run.outcome"] = got, "of a step that ran"
		case got != 0 && j.installFails && s.Name == "Install settle":
			code = got
		case got != 0:
			j.t.Errorf("%q: exit code %d", s.Name, got)
		}
	}
	return code
}

func (j *job) read(path string) string {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		j.t.Error(err)
	}
	return string(data)
}

// events returns the types of the events that settle printed.
func (j *job) events(path string) (types []string) {
	d := json.NewDecoder(bytes.NewReader([]byte(j.read(path))))
	for {
		var e struct{ Kind string }
		if err := d.Decode(&e); err != nil {
			if !errors.Is(err, io.EOF) {
				j.t.Error(err)
			}
			return types
		}
		types = append(types, e.Kind)
	}
}

const (
	looks   = `{"items": [{"call": "shell", "arguments": {"command": "ls; touch new"}}]},`
	answers = looks + `{"items": [{"say": "All is well.\n$(touch evil) EOF ${{ x }}"}]}`
	refuses = `{"items": [{"say": "no"}], "faults": [{"fault": "status", "status": 401, "times": 9}]}`
)

// The action installs the release, runs the prompt, and comments with the answer.
func TestAction(t *testing.T) {
	j := newJob(t, answers)
	prompt := `review "this" $(touch evil) * ; touch evil`
	code := j.action(map[string]string{
		"prompt": prompt, "model": "chat/m", "args": "--base-url " + j.model + " --max-steps 9", "permission": "allow", "version": version, "install-url": j.url,
	})
	const answer = "All is well.\n$(touch evil) EOF ${{ x }}"
	if got := j.read(filepath.Join(j.scratch, "comment")); code != 0 || strings.TrimSpace(got) != answer {
		t.Errorf("exit code %d, comment %q", code, got)
	}
	if got := j.read(filepath.Join(j.scratch, "gh")); got != "pr\ncomment\n7\n--repo\no/r\n" {
		t.Errorf("gh got %q", got)
	}
	if got := j.read(j.outputs); !strings.Contains(got, "\n"+answer+"\n") || !strings.Contains(got, "answer<<end-") {
		t.Errorf("outputs: %s", got)
	}
	types := j.events(filepath.Join(j.scratch, "settle", "events.jsonl"))
	if len(types) < 5 || types[len(types)-1] != "turn.completed" {
		t.Errorf("events: %q", types)
	}
	for name, want := range map[string]bool{"new": true, "evil": false} {
		if _, err := os.Stat(filepath.Join(j.work, name)); err == nil != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The action runs no install script that no key of its own commit signed, or that is of
// another version.
func TestActionVerifiesInstaller(t *testing.T) {
	_, other := testKey(t)
	key, err := signing()
	if err != nil {
		t.Fatal(err)
	}
	evil := "#!/bin/sh\ntouch \"$SETTLE_INSTALL_DIR.evil\"\n"
	for name, c := range map[string]struct {
		trusted, version, script string
		installed                bool
	}{
		"signed":                             {key.line, version, "", true},
		"signed by a key that is not listed": {other, version, "", false},
		"a changed script":                   {key.line, version, evil, false},
		"another version":                    {key.line, "1.2.4", "", false},
		"no key is listed":                   {"", version, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, answers)
			j.trust(c.trusted)
			j.installFails = !c.installed
			files := http.FileServer(http.Dir(dist(t)))
			j.url, j.env = secure(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/install.sh" && c.script != "" {
					io.WriteString(w, c.script)
					return
				}
				files.ServeHTTP(w, r)
			}))
			code := j.action(
				map[string]string{
					"prompt":      "go",
					"model":       "chat/m",
					"args":        "--base-url " + j.model,
					"version":     c.version,
					"install-url": j.url,
				},
			)
			_, err := os.Stat(filepath.Join(j.scratch, "settle-bin", "settle"))
			if _, ran := os.Stat(filepath.Join(j.scratch, "settle-bin.evil")); (code == 0) != c.installed ||
				(err == nil) != c.installed ||
				ran == nil {
				t.Errorf("exit code %d; installed: %v; the changed script ran: %v", code, err, ran)
			}
		})
	}
}

// A turn that fails fails the job, and nobody comments.
func TestActionFails(t *testing.T) {
	j := newJob(t, refuses)
	code := j.action(
		map[string]string{
			"prompt":      "go",
			"model":       "chat/m",
			"args":        "--base-url " + j.model,
			"version":     version,
			"install-url": j.url,
		},
	)
	if code != 1 || j.read(filepath.Join(j.scratch, "comment")) != "" ||
		!strings.Contains(j.read(j.summary), "did not complete") {
		t.Errorf(
			"exit code %d, comment %q, summary %q",
			code,
			j.read(filepath.Join(j.scratch, "comment")),
			j.read(j.summary),
		)
	}
}

// findings is the answer of a review that has read the diff, with lines in it (3), not in it (9), and none.
const findings = `{"items": [{"call": "shell", "arguments": {"command": "git diff origin/main...HEAD"}},` +
	`{"call": "shell", "arguments": {"command": "touch evil"}}]},` +
	`{"when": "+package changed", "items": [{"say": "{\"summary\":\"Three problems.\",\"findings\":[` +
	`{\"file\":\"a $(touch evil).go\",\"line\":3,\"severity\":\"high\",\"text\":\"It $(touch evil) panics.\"},` +
	`{\"file\":\"b.go\",\"line\":9,\"severity\":\"low\",\"text\":\"/close\\n/title x\"},` +
	`{\"file\":\"c.go\",\"line\":0,\"severity\":\"low\",\"text\":\"Long.\"}]}"}]}`

// repository makes the work directory a repository with a change on main since origin/main.
func (j *job) repository() {
	j.t.Helper()
	files := []string{"changed.go", "a $(touch evil).go", "b.go", "c.go"}
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(j.work, name), []byte("package changed\n"), 0o600); err != nil {
			j.t.Fatal(err)
		}
	}
	commit := []string{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "some"}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		commit,
		{"update-ref", "refs/remotes/origin/main", "HEAD"},
		append([]string{"add"}, files...),
		commit,
	} {
		if out, err := exec.Command("git", append([]string{"-C", j.work}, args...)...).CombinedOutput(); err != nil {
			j.t.Fatalf("%v: %s", err, out)
		}
	}
}

// A review has a comment for each finding of the diff, and always a summary.
func TestActionReviews(t *testing.T) {
	for name, c := range map[string]struct {
		turns, base, comment string
		code, api            int
	}{
		"findings": {findings, "", "settle review, 3 findings: Three problems.", 0, 3},
		"failure":  {refuses, "", "settle review failed, and has no findings: ", 1, 0},
		"prose":    {answers, "", "settle review failed, and has no findings: the answer is not JSON", 1, 0},
		"nothing":  {refuses, "HEAD", `nothing to review since "HEAD"`, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, c.turns)
			j.repository()
			base := cmp.Or(c.base, "origin/main")
			code := j.action(map[string]string{
				"review": "true", "base": base, "model": "chat/m", "args": "--base-url " + j.model,
				"version": version, "install-url": j.url,
			})
			comment, api := j.read(filepath.Join(j.scratch, "comment")), j.read(filepath.Join(j.scratch, "api"))
			if code != c.code || !strings.Contains(comment, c.comment) || strings.Count(api, "\n") != c.api {
				t.Errorf("exit code %d, comment %q, api %q", code, comment, api)
			}
			if c.api > 0 && (!strings.Contains(api, "path=a $(touch evil).go -F line=3 -f side=RIGHT") ||
				!strings.Contains(api, "path=c.go -f subject_type=file")) {
				t.Errorf("api: %s", api)
			}
			if _, err := os.Stat(filepath.Join(j.work, "evil")); err == nil {
				t.Error("a finding was run")
			}
		})
	}
}

// Where settle was not installed, a review has the reason as its comment, and nothing of an earlier step. Without
// a pull request, the summary of the job states why there is no comment.
func TestActionReviewsAlwaysStateReason(t *testing.T) {
	j := newJob(t, answers)
	earlier := filepath.Join(j.scratch, "settle", "comments")
	if err := write(filepath.Join(earlier, "summary.md"), []byte("of an earlier step\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	j.installFails = true
	inputs := map[string]string{"review": "true", "version": "9.9.9", "install-url": j.url}
	if code := j.action(inputs); code == 0 {
		t.Error("another version was installed")
	}
	const want = "settle review did not start"
	if got := j.read(filepath.Join(j.scratch, "comment")); !strings.HasPrefix(got, want) {
		t.Errorf("comment %q", got)
	}
	j.pull = ""
	_ = j.action(inputs)
	if got := j.read(j.summary); !strings.Contains(got, want) ||
		!strings.Contains(got, "is not about a pull request") {
		t.Errorf("summary %q", got)
	}
}

// gitlab runs the component's job with inputs, and returns how the turn ended.
func (j *job) gitlab(inputs map[string]string) (code int) {
	j.t.Helper()
	raw, err := os.ReadFile("../templates/settle.yml")
	if err != nil {
		j.t.Fatal(err)
	}
	var spec struct {
		Spec struct {
			Inputs map[string]struct{ Default *string }
		}
	}
	type body struct {
		Variables map[string]yaml.Node
		Script    []string
		After     []string `yaml:"after_script"`
	}
	var jobs map[string]body
	d := yaml.NewDecoder(bytes.NewReader(raw))
	if err := errors.Join(d.Decode(&spec), d.Decode(&jobs)); err != nil {
		j.t.Fatal(err)
	}
	value := regexp.MustCompile(`\$\[\[ inputs\.([a-z-]+) \]\]`)
	env := []string{
		"CI_PROJECT_DIR=" + j.work,
		"CI_PROJECT_ID=3",
		"CI_MERGE_REQUEST_IID=7",
		"SETTLE_GITLAB_TOKEN=token",
		"CI_API_V4_URL=" + j.notesServer(),
	}
	the := jobs["$[[ inputs.job ]]"]
	for name, node := range the.Variables {
		if node.Kind == yaml.MappingNode {
			node = *node.Content[1]
		}
		env = append(env, name+"="+value.ReplaceAllStringFunc(node.Value, func(e string) string {
			key := value.FindStringSubmatch(e)[1]
			if in, ok := inputs[key]; ok {
				return in
			}
			in, ok := spec.Spec.Inputs[key]
			if !ok || in.Default == nil {
				j.t.Errorf("no input %s", key)
				return ""
			}
			return *in.Default
		}))
	}
	code = j.script(j.work, env, "sh", "-ec", strings.Join(the.Script, "\n"))
	if got := j.script(j.work, env, "sh", "-ec", strings.Join(the.After, "\n")); got != 0 {
		j.t.Errorf("afterwards: exit code %d", got)
	}
	return code
}

// notesServer is the one method of GitLab's API that the component uses
// (POST /projects/:id/merge_requests/:iid/notes).
func (j *job) notesServer() string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/projects/3/merge_requests/7/notes" ||
			r.Header.Get("Private-Token") != "token" {
			http.Error(w, "404 Not Found", http.StatusNotFound)
			return
		}
		body := strings.ReplaceAll(r.FormValue("body"), "\r", "\n")
		for line := range strings.Lines(body) {
			if strings.HasPrefix(line, "/") { // GitLab runs it with the rights of the token
				j.t.Errorf("the note has the quick action %q", line)
			}
		}
		j.notes <- r.FormValue("body")
		w.WriteHeader(http.StatusCreated)
	}))
	j.t.Cleanup(server.Close)
	return server.URL
}

func TestGitLab(t *testing.T) {
	j := newJob(t, answers)
	inputs := map[string]string{
		"prompt": `review "this" $(touch evil)`, "model": "chat/m", "args": "--base-url " + j.model, "permission": "allow", "version": version, "install-url": j.url,
	}
	if code := j.gitlab(inputs); code != 0 {
		t.Errorf("exit code %d", code)
	}
	select {
	case got := <-j.notes:
		if strings.TrimSpace(got) != "> All is well.\n> $(touch evil) EOF ${{ x }}" {
			t.Errorf("the note is %q", got)
		}
	default:
		t.Error("there is no note")
	}
	if types := j.events(filepath.Join(j.work, ".settle-job", "events.jsonl")); len(types) < 5 ||
		types[len(types)-1] != "turn.completed" {
		t.Errorf("events: %q", types)
	}
	if _, err := os.Stat(filepath.Join(j.work, "evil")); err == nil {
		t.Error("the prompt or the answer was run")
	}
}

// A review has a note for each finding, and always one with the result or the reason.
func TestGitLabReviews(t *testing.T) {
	for turns, want := range map[string][]string{
		findings: {
			"a $(touch evil).go:3\n\n**high**", "b.go:9\n\n**low**\n\n> /close\n> /title x", "c.go:0",
			"settle review, 3 findings",
		},
		refuses: {"settle review failed, and has no findings: "},
	} {
		j := newJob(t, turns)
		j.repository()
		code := j.gitlab(map[string]string{
			"prompt": "", "review": "true", "base": "origin/main", "model": "chat/m", "args": "--base-url " + j.model,
			"version": version, "install-url": j.url,
		})
		if code != 0 && turns == findings || len(j.notes) != len(want) {
			t.Errorf("exit code %d, %d notes, want %d", code, len(j.notes), len(want))
		}
		for n := range min(len(want), len(j.notes)) {
			if got := <-j.notes; !strings.Contains(got, want[n]) {
				t.Errorf("note %d is %q", n, got)
			}
		}
	}
}

func TestGitLabFails(t *testing.T) {
	j := newJob(t, refuses)
	code := j.gitlab(
		map[string]string{
			"prompt":      "go",
			"model":       "chat/m",
			"args":        "--base-url " + j.model,
			"version":     version,
			"install-url": j.url,
		},
	)
	if code != 1 || len(j.notes) != 0 {
		t.Errorf("exit code %d, %d notes", code, len(j.notes))
	}
}
