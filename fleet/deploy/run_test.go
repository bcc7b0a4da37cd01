package deploy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/settle-agent/settle/modeltest"
)

func replaceVariable(text, name, value string) string {
	return strings.ReplaceAll(text, "$("+name+")", value)
}

// fleet is a settle-fleet that was built, and the machine that it sees.
type fleet struct {
	program string
	dir     string
	outside []string // what its environment has from the image and from the test
}

func newFleet(t *testing.T, model string) fleet {
	t.Helper()
	f := fleet{program: filepath.Join(t.TempDir(), "settle-fleet"), dir: t.TempDir()}
	if out, err := exec.Command("go", "build", "-C", "..", "-o", f.program, "./cmd/settle-fleet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f.outside = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + f.dir,
		"SETTLE_DATA_DIR=" + filepath.Join(f.dir, "data"),
		"OPENAI_BASE_URL=" + model,
	}
	return f
}

// command is settle-fleet with the arguments and environment of a container. Folders of
// the pod are folders of the test, and a port is one that is free.
func (f fleet) command(ctx context.Context, env map[string]string, args ...string) *exec.Cmd {
	for n, a := range args {
		switch a {
		case "/work", "/tasks/tasks.jsonl":
			args[n] = filepath.Join(f.dir, filepath.Base(a))
		case "0.0.0.0:9464":
			args[n] = "127.0.0.1:0"
		}
	}
	cmd := exec.CommandContext(ctx, f.program, args...)
	cmd.Dir, cmd.Env = f.dir, slices.Clone(f.outside)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		cmd.Env = append(cmd.Env, name+"="+env[name])
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	return cmd
}

// run runs a command to its end and returns what it prints.
func (f fleet) run(t *testing.T, env map[string]string, stdin string, args ...string) string {
	t.Helper()
	cmd := f.command(t.Context(), env, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("settle-fleet %q: %v\n%s", args, err, errs.String())
	}
	return string(out)
}

// started starts a worker, and returns the address of its metrics, if it serves any, and
// what stops it as Kubernetes and Compose do.
func (f fleet) started(t *testing.T, env map[string]string, args ...string) (metrics string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := f.command(ctx, env, args...)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.Contains(lines.Text(), "the worker is ready") {
		if _, rest, ok := strings.Cut(lines.Text(), "url="); ok {
			metrics = strings.TrimSpace(rest)
		}
	}
	ended := make(chan error, 1)
	go func() { // ends with the worker, and is waited for
		_, _ = io.Copy(io.Discard, stderr) // so that the worker never waits
		ended <- cmd.Wait()
	}()
	return metrics, func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the worker: %v", err)
		}
	}
}

// The commands of the manifests do what they are for, as they are written: the tables
// are made, the tasks of a file run in the workers, the results are complete, the probe
// is answered, and a worker that is asked to end does so in good order.
func TestKubernetesCommands(t *testing.T) {
	model := modeltest.NewServer(t, modeltest.Script(modeltest.Say("one"), modeltest.Say("two")))
	f, all := newFleet(t, model.OpenAI()), pods(t)
	address := temporal.Address(t)
	f.writes(t, "work/.keep", "")
	f.writes(t, "tasks.jsonl", `{"session":"a","prompt":"go"}`+"\n"+`{"prompt":"go"}`+"\n")
	secrets := map[string]string{"database": server.URL(t), "openai": "sk-0123456789abcdefghijkl"}
	fields := map[string]string{
		"metadata.name": "settle-worker-1",
		"metadata.labels['batch.kubernetes.io/job-name']": "settle-submit-1",
	}
	variables := func(c corev1.Container) map[string]string {
		return atTemporal(environment(t, c, secrets, fields), address)
	}
	run := func(c corev1.Container) string {
		env := variables(c)
		return f.run(t, env, "", arguments(c, env)...)
	}
	run(all["migrate.yaml"].Spec.Containers[0])
	worker := all["worker.yaml"].Spec.Containers[0]
	env := variables(worker)
	metrics, stop := f.started(t, env, arguments(worker, env)...)
	for range 2 { // a job whose pod fails starts another one
		if out := run(all["submit.yaml"].Spec.InitContainers[0]); out != "a/1\nsettle-submit-1-2/1\n" {
			t.Errorf("submit prints %q", out)
		}
	}
	out := run(all["submit.yaml"].Spec.Containers[0])
	for _, want := range []string{`"worker":"settle-worker-1"`, `"batch":"settle-submit-1"`, `"unit":"a/1"`, `"unit":"settle-submit-1-2/1"`} {
		if !strings.Contains(out, want) || strings.Count(out, "\n") != 2 {
			t.Errorf("no %s in %s", want, out)
		}
	}
	if out := run(all["command.yaml"].Spec.Containers[0]); !strings.Contains(out, "ended 2") {
		t.Errorf("the command prints %q", out)
	}
	if out := run(all["prune.yaml"].Spec.Containers[0]); !strings.Contains(out, "no session began more than 30 days") {
		t.Errorf("prune prints %q", out)
	}
	for _, probe := range []*corev1.Probe{worker.LivenessProbe, worker.ReadinessProbe} {
		probed(t, strings.TrimSuffix(metrics, "/metrics")+probe.HTTPGet.Path)
	}
	probed(t, metrics)
	stop()
}

// The commands of the compose file do, too.
func TestComposeCommands(t *testing.T) {
	model := modeltest.NewServer(t, modeltest.Script(modeltest.Say("one")))
	f, address := newFleet(t, model.OpenAI()), temporal.Address(t)
	p := compose(t, "OPENAI_API_KEY=sk-0123456789abcdefghijkl", "SETTLE_FLEET_PASSWORD=secret")
	database := server.URL(t)
	in := func(service string) map[string]string {
		vars := map[string]string{}
		for name, value := range p.Services[service].Environment {
			vars[name] = *value
		}
		vars["SETTLE_FLEET_DATABASE"] = database
		return atTemporal(vars, address)
	}
	f.run(t, in("migrate"), "", p.Services["migrate"].Command...)
	_, stop := f.started(t, in("worker"), p.Services["worker"].Command...)
	f.run(t, in("cli"), `{"session":"a","prompt":"go"}`+"\n", "submit", "--file", "-")
	if out := f.run(t, in("cli"), "", "results", "--wait"); !strings.Contains(out, `"answer":"one"`) {
		t.Errorf("%s", out)
	}
	if out := f.run(t, in("cli"), "", p.Services["cli"].Command...); !strings.Contains(out, "ended 1") {
		t.Errorf("%s", out)
	}
	stop()
}

// atTemporal replaces the address of Temporal, if a container has one.
func atTemporal(env map[string]string, address string) map[string]string {
	if env["TEMPORAL_ADDRESS"] != "" {
		env["TEMPORAL_ADDRESS"] = address
	}
	return env
}

func (f fleet) writes(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(f.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// probed asks as a liveness probe does.
func probed(t *testing.T, url string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("the probe is answered by %s", response.Status)
	}
}
