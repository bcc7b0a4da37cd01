package proc

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/sandbox"
)

// BenchmarkBare measures a command without settle, as the baseline of BenchmarkCall.
func BenchmarkBare(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("sh", "-c", "true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCall is one tracked command, until its supervisor is gone.
func BenchmarkCall(b *testing.B) {
	before := cpu()
	bare := pace(b, func() { _ = exec.Command("sh", "-c", "true").Run() })
	between := cpu()
	for b.Loop() {
		p, err := Start(b.Context(), sh("true"))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
		<-p.Done()
	}
	call := b.Elapsed() / time.Duration(b.N)
	b.ReportMetric(float64(call)/float64(bare), "x-bare-wall")
	b.ReportMetric(float64(cpu()-between)/float64(b.N)/(float64(between-before)/paceRuns), "x-bare-cpu")
}

// BenchmarkCallsAtOnce is 200 tracked commands at once, against 200 bare ones at once.
func BenchmarkCallsAtOnce(b *testing.B) {
	const calls = 200
	all := func(call func()) time.Duration {
		begun := time.Now()
		var group sync.WaitGroup
		for range calls {
			group.Go(call)
		}
		group.Wait()
		return time.Since(begun)
	}
	var bare time.Duration
	for b.Loop() {
		b.StopTimer()
		bare += all(func() { _ = exec.Command("sh", "-c", "true").Run() })
		b.StartTimer()
		all(func() {
			p, err := Start(b.Context(), sh("true"))
			if err != nil {
				b.Error(err)
				return
			}
			<-p.Done()
		})
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*calls), "ms/call")
	b.ReportMetric(float64(b.Elapsed())/float64(bare), "x-bare-wall")
}

// BenchmarkSandboxedCall measures a command in each kind of sandbox, and the difference of its
// median from a command without a sandbox.
func BenchmarkSandboxedCall(b *testing.B) {
	if err := Confines(); err != nil {
		b.Fatal(err)
	}
	run := func(policy *sandbox.Policy) {
		spec := sh("true")
		spec.Sandbox = policy
		p, err := Start(b.Context(), spec)
		if err != nil {
			b.Fatal(err)
		}
		<-p.Done()
	}
	reading := sandbox.ReadOnly(os.Getenv("HOME"), os.Getenv("PATH"), b.TempDir())
	workspace := sandbox.Workspace(os.Getenv("HOME"), os.Getenv("PATH"), nil, []string{b.TempDir()})
	workspace.View, workspace.OwnNetwork = true, true
	readingAlone, workspaceAlone := reading, workspace
	readingAlone.OwnProcesses, workspaceAlone.OwnProcesses = true, true
	policies := []*sandbox.Policy{nil, &reading, &readingAlone, &workspace, &workspaceAlone}
	times := make([][]time.Duration, len(policies))
	for b.Loop() {
		for _, i := range rand.Perm(len(policies)) { // all policies share the machine's load and pending cleanup
			from := time.Now()
			run(policies[i])
			times[i] = append(times[i], time.Since(from))
		}
	}
	for i := range times {
		slices.Sort(times[i])
	}
	for i, name := range []string{"", "read-only", "read-only-own-processes", "workspace", "workspace-own-processes"} {
		if i > 0 {
			b.ReportMetric(
				float64(times[i][len(times[i])/2]-times[0][len(times[0])/2])/float64(time.Millisecond), "ms-more-"+name,
			)
		}
	}
}

const paceRuns = 100

// pace is the median time of a function.
func pace(b *testing.B, f func()) time.Duration {
	b.Helper()
	times := make([]time.Duration, paceRuns)
	for i := range times {
		from := time.Now()
		f()
		times[i] = time.Since(from)
	}
	slices.Sort(times)
	return times[paceRuns/2]
}

// cpu is the time that this process and its dead children have used.
func cpu() time.Duration {
	var total time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		_ = syscall.Getrusage(who, &usage)
		total += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return total
}

// BenchmarkSupervisorMemory reports the private memory of a supervisor.
func BenchmarkSupervisorMemory(b *testing.B) {
	var private int
	for b.Loop() {
		p, err := Start(b.Context(), sh("sleep 1000"))
		if err != nil {
			b.Fatal(err)
		}
		private += privateKiB(b, parentOf(b, p.PID()))
		p.End(b.Context(), 0)
	}
	b.ReportMetric(float64(private)/float64(b.N), "private-KiB")
}

func parentOf(tb testing.TB, pid int) int {
	tb.Helper()
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	parent, err := strconv.Atoi(strings.Fields(rest)[1])
	if err != nil {
		tb.Fatal(err)
	}
	return parent
}

func privateKiB(tb testing.TB, pid int) int {
	tb.Helper()
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		tb.Fatal(err)
	}
	total := 0
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "Private_") {
			n, _ := strconv.Atoi(strings.Fields(line)[1])
			total += n
		}
	}
	return total
}

// BenchmarkEnd is the time from the request to a tree that is gone, of
// processes that ignore TERM, without the grace. On a machine that is short of
// CPU, p99 is the scheduler's: the supervisor, the processes that are killed and
// the supervisor's end each wait for their turn, and nothing here sleeps longer
// than killDelay.
func BenchmarkEnd(b *testing.B) {
	const grace = 100 * time.Millisecond
	var times []time.Duration
	for b.Loop() {
		out := newSink()
		spec := sh("trap '' TERM INT HUP; (setsid sh -c 'trap \"\" TERM; sleep 1000 & echo ready; wait' &); sleep 1000")
		spec.Stdout = out
		p, err := Start(b.Context(), spec)
		if err != nil {
			b.Fatal(err)
		}
		for !strings.Contains(out.String(), "ready") {
			select {
			case <-out.more:
			case <-b.Context().Done():
				b.Fatal("the benchmark ended")
			}
		}
		from := time.Now()
		if left := p.End(b.Context(), grace); len(left) > 0 {
			b.Fatal(left)
		}
		times = append(times, time.Since(from)-grace)
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(0, "ns/op")
}
