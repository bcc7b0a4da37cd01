package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/sandbox"
)

// maxDenied bounds the listed denials of one command.
const maxDenied = 5

// Denials is the name of the call that finds denials of the sandbox in a command's output: the
// kernel reports denials only to the command. Its arguments are an [Output], its answer is a
// [Denial]. If the command has ended and left no processes, the answer comes after the end of its
// guard. The guards of other commands do not delay it.
const Denials = "denials"

// Output is the output of a sandboxed command, with its sandbox.
type Output struct {
	Sandbox event.Sandbox `json:"sandbox"`
	Secrets event.Secrets `json:"secrets,omitempty"`
	Workdir string        `json:"workdir,omitempty"` // as in [Command]
	Text    string        `json:"text"`
	// Completed reports that the command exited with code 0, so that a refusal in the output can
	// be one of an earlier part, or a text that the command only shows.
	Completed bool `json:"completed,omitempty"`
}

// Denial describes the denials of a sandbox. It lists a path only if the sandbox forbids it and the
// user's own permissions allow it.
type Denial struct {
	Named []string `json:"named,omitempty"`
	// Bounds describes the permissions of the sandbox, if the output has a refusal and no path was
	// found.
	Bounds string `json:"bounds,omitempty"`
	// Hosts are the refused hosts that the user can allow, in the syntax of the configuration.
	Hosts []string `json:"hosts,omitempty"`
	// Restored are the changed protected files, where a comparison protects them.
	Restored []string `json:"restored,omitempty"`
	// Unrestored are the changed protected files that could not be restored, with the reason.
	Unrestored []string `json:"unrestored,omitempty"`
	// Quarantined are the parts of repositories that were moved aside, with the reason, and the
	// parts that could not be checked.
	Quarantined []string `json:"quarantined,omitempty"`
	// Git reports that a denied path is in the folder of a repository.
	Git bool `json:"git,omitempty"`
}

// denials answers a call of [Denials].
func (l *Local) denials(ctx context.Context, r Request) (json.RawMessage, error) {
	var out Output
	if err := json.Unmarshal(r.Args, &out); err != nil {
		return nil, fmt.Errorf("cannot read the arguments: %w", err)
	}
	d := Denial{}
	known := l.sandboxed.of(r.Call)
	known.awaitEnd(ctx) // its guard names what it finds at the end, and the next call starts without it
	if known.guard != nil {
		d.Restored, d.Unrestored = known.guard.restore()
	}
	if l.Repositories != nil && out.Sandbox == event.Workspace {
		for _, found := range l.Repositories.Check(ctx) {
			d.Quarantined = append(d.Quarantined, found.String())
		}
	}
	dir, err := Command{Dir: r.Dir, Workdir: out.Workdir}.dir()
	if err != nil || l.Sandbox == nil { // a command can have removed its directory
		return json.Marshal(d)
	}
	policy, _, err := l.Sandbox(Confined{out.Sandbox, out.Secrets, dir})
	if err != nil {
		return json.Marshal(d) // what the guard did is not done again
	}
	list, suspect := refusals(policy, dir, out)
	d.Named = list
	d.Git = slices.ContainsFunc(list, func(what string) bool { return strings.Contains(what, "/.git/") })
	for _, r := range known.refused() {
		if len(d.Named) < maxDenied {
			d.Named, d.Hosts = append(d.Named, r.String()), append(d.Hosts, r.Hosts()...)
		}
	}
	if len(d.Named) == 0 && suspect {
		d.Bounds = bounds(policy)
	}
	return json.Marshal(d)
}

// bounds describes the permissions of a sandbox in one line.
func bounds(p sandbox.Policy) string {
	words := "commands change nothing"
	if len(p.Write) > 0 {
		words = "commands change files only in " + strings.Join(p.Write, ", ")
	}
	switch p.Network {
	case sandbox.Offline:
		words += ", and have no network"
	case sandbox.Proxied:
		words += ", and reach hosts only through the proxy in HTTPS_PROXY"
	}
	return words
}

// The messages of programs and C libraries for refusals.
var (
	refusal = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			`(?i)permission denied|operation not permitted|read-only file system|device or resource busy|\bEACCES\b|\bEPERM\b|\bEROFS\b|PermissionError`,
		)
	})
	offline = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			`(?i)could not resolve|temporary failure in name resolution|name or service not known|EAI_AGAIN|ENOTFOUND|network is unreachable|` +
				`(?:could not|couldn't|cannot|can't|unable to|failed to) connect to (?:server|[^\n]*(?:port \d|:\d|\.sock\b))|` +
				`create TCP/IP socket|` +
				`(?:socket|dial|connect|listen|lookup|bind)[^\n]*(?:operation not permitted|permission denied)`,
		)
	})
	path = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			"'([^'\n]+)'|‘([^’\n]+)’|\"([^\"\n]+)\"|`([^`'\n]+)'|([^\\s:'\"‘’`\\[\\](),]*/[^\\s:'\"‘’`\\[\\](),]*)|([^\\s:'\"]+): (?i:permission denied|read-only file system)",
		)
	})
)

// report matches a line in which a program reports an error: the program's name, an operation or
// a kind of error, and a colon. Lines of source code, of documents and of grep have another form.
var report = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[\w./+]+ ){0,2}[\w./+-]+: `)
})

// ShowsRefusal reports whether an output has the words of a refusal, for any reason.
func ShowsRefusal(output string) bool {
	return refusal().MatchString(output) || offline().MatchString(output)
}

// ending matches a line that ends with a refusal.
var ending = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:operation not permitted|permission denied|read-only file system)\W*$`)
})

// refusals lists the denials of a sandbox in an output. suspect reports a refusal for any reason.
// If the command has completed, only reports of programs count, and a report is suspect only if it
// ends with a refusal and names no path. In the read-only sandbox, a denied writing does not count
// then, and none is suspect: most commands there only read, and show the text of files.
func refusals(p sandbox.Policy, dir string, out Output) (list []string, suspect bool) {
	for line := range strings.SplitSeq(out.Text, "\n") {
		if out.Completed && !report().MatchString(line) {
			continue
		}
		if p.Network != sandbox.Online && offline().MatchString(line) {
			what := "the network"
			if p.Network == sandbox.Proxied {
				what = "a connection that does not go through the proxy in HTTPS_PROXY"
			}
			list = append(list, what)
			continue
		}
		if !refusal().MatchString(line) {
			continue
		}
		paths := path().FindAllStringSubmatch(line, -1)
		suspect = suspect || !out.Completed ||
			out.Sandbox != event.ReadOnly && len(paths) == 0 && ending().MatchString(line)
		for n, found := range slices.Backward(paths) { // most programs name the file last
			if n == 0 && len(paths) > 1 && strings.HasPrefix(line, found[0]+":") {
				break // the program itself
			}
			name := strings.Join(found[1:], "")
			what := refused(p, disk.AbsoluteIn(dir, name))
			if out.Completed && out.Sandbox == event.ReadOnly && strings.HasPrefix(what, "writing ") {
				break
			}
			if what != "" {
				list = append(list, what)
				break
			}
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) > maxDenied {
		list = append(list[:maxDenied], fmt.Sprintf("and %d more", len(list)-maxDenied))
	}
	return list, suspect
}

// refused describes the denied kinds of access to a path that the user may access; "" if the policy
// denies none.
func refused(p sandbox.Policy, name string) string {
	real, err := filepath.EvalSymlinks(name)
	parent := filepath.Dir(name)
	if err != nil { // not created yet
		if real, err = filepath.EvalSymlinks(parent); err != nil {
			return ""
		}
		real = filepath.Join(real, filepath.Base(name))
		if !p.MayWrite(real) && userMay(parent, writing) {
			return "writing " + name
		}
		return ""
	}
	switch {
	case !p.MayRead(real) && userMay(real, reading):
		return "reading " + name
	case !p.MayWrite(real) && userMay(real, writing):
		return "writing " + name
	}
	return ""
}

// access is a kind of file access.
type access int

const (
	reading access = iota
	writing
)
