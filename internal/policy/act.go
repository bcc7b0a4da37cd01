package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/settle-agent/settle/tool/file"
)

// arguments are those of the tools that are known here; what others take is
// read where it has the same name.
type arguments struct {
	Command    string `json:"command"`
	Workdir    string `json:"workdir"`
	Release    bool   `json:"release"`
	Background bool   `json:"background"`
	Path       string `json:"path"`
	Pattern    string `json:"pattern"`
	Glob       string `json:"glob"`
	Input      string `json:"input"`
	Action     string `json:"action"`
	Job        string `json:"job"`
}

// act is a call that has been looked at.
type act struct {
	Request
	arguments
	ground ground
	deeds  []deed
	// exact is the same for two calls only if they do the same.
	exact string
}

// look finds out what a call does. What it cannot find out is a deed too.
func (p *Policy) look(r Request) act {
	a := act{Request: r}
	if a.Dir == "" {
		a.Dir = p.dir
	}
	var err error
	if a.ground, err = newGround(a.Dir); err != nil {
		a.deeds = []deed{{kind: hidden, text: r.Tool, why: err.Error()}}
		return a
	}
	if len(bytes.TrimSpace(r.Arguments)) > 0 {
		err = json.Unmarshal(r.Arguments, &a.arguments)
	}
	a.exact = a.key()
	switch {
	case err != nil && slices.Contains(known(), r.Tool):
		a.deeds = []deed{{kind: hidden, text: r.Tool, why: "its arguments are not understood"}}
	case r.Tool == "shell" && p.opaque:
		a.deeds = []deed{{kind: hidden, text: a.Command, why: "what it runs cannot be judged: it is not for bash"}}
	case r.Tool == "shell":
		a.shell(p.home)
	case r.Tool == "job":
		a.job()
	case r.Tool == "apply_patch":
		a.patch()
	case r.Tool == "edit", r.Tool == "write":
		a.paths(writes, a.Path)
	case slices.Contains(readers(), r.Tool):
		a.reader()
	default:
		a.other()
	}
	return a
}

// known are the tools whose arguments are known.
func known() []string {
	return slices.Concat([]string{"shell", "job"}, editors(), readers())
}

// key leaves out what does not change what a call does.
func (a act) key() string {
	if a.Tool == "shell" {
		return fmt.Sprintf("%s\x00%s\x00%s\x00%t%t", a.Tool, a.Workdir, a.Command, a.Background, a.Release)
	}
	var b bytes.Buffer
	if json.Compact(&b, a.Arguments) != nil {
		b.Write(a.Arguments)
	}
	return a.Tool + "\x00" + b.String()
}

func (a *act) shell(home string) {
	s := &script{home: home, ground: a.ground, dirs: []string{a.ground.dir}}
	if a.Workdir != "" {
		list := s.paths(looks, a.Workdir)
		s.dirs = nil
		for _, d := range list {
			if d.kind == looks {
				s.dirs = []string{d.place.named}
			}
			s.add(d)
		}
	}
	if a.Release {
		s.add(deed{kind: hidden, text: a.Command, why: "it runs on after the session"})
	}
	s.read(a.Command)
	a.deeds = s.deeds
	if len(a.deeds) == 0 { // nothing but comments, or ":="
		a.deeds = []deed{{kind: runs, text: a.Command, words: []word{literal(":")}, safe: true}}
	}
}

// job is what the model does with processes that it has started.
func (a *act) job() {
	d := deed{kind: does, text: strings.TrimSpace("job " + a.Action + " " + a.Job), action: a.Action}
	switch a.Action {
	case "list", "read", "wait", "kill":
		d.safe = true
	case "write":
		// A job may be a shell.
		d.why = "it writes to the input of a process, which may do anything with it"
		a.deeds = append(a.deeds, deed{kind: hidden, text: a.Input, why: d.why})
	default:
		d.why = "it lets a process run on after the session"
	}
	a.deeds = append(a.deeds, d)
}

func (a *act) paths(kind kind, path string) {
	if path == "" {
		path = "."
	}
	p, err := a.ground.locate(a.ground.dir, path)
	if err != nil {
		a.deeds = append(a.deeds, deed{kind: hidden, text: path, why: err.Error()})
		return
	}
	a.deeds = append(a.deeds, pathDeed(kind, p))
}

func (a *act) patch() {
	paths, err := file.PatchPaths(a.Input)
	if err != nil {
		// The tool refuses it for the same reason, before it writes.
		a.deeds = []deed{{kind: writes, text: a.Tool, safe: true, place: place{rel: ".", inside: true}}}
		return
	}
	for _, path := range paths {
		a.paths(writes, path)
	}
}

// reader is read, grep, glob or list.
func (a *act) reader() {
	switch a.Tool {
	case "read":
		a.paths(reads, a.Path)
	case "grep":
		a.paths(reads, a.Path)
		if a.Glob != "" && secretGlob(a.Glob, matchesName) {
			d := a.deeds[0]
			d.safe, d.why = false, "it looks into files that by their name hold secrets: "+a.Glob
			a.deeds = append(a.deeds, d)
		}
	case "glob":
		base, _ := doublestar.SplitPattern(path.Clean(slashed(a.Pattern)))
		if !strings.HasPrefix(base, "/") && a.Path != "" {
			base = a.Path + "/" + base
		}
		a.paths(looks, base)
	default:
		a.paths(looks, a.Path)
	}
}

// other is a tool that is not known here. What it calls "path" is one.
func (a *act) other() {
	d := deed{kind: does, text: a.Tool, why: "it is not known what " + a.Tool + " does", safe: a.ReadOnly}
	if a.Path == "" {
		a.deeds = []deed{d}
		return
	}
	p, err := a.ground.locate(a.ground.dir, a.Path)
	if err != nil {
		a.deeds = []deed{{kind: hidden, text: a.Path, why: err.Error()}}
		return
	}
	d.place = p
	a.deeds = []deed{d}
	if a.ReadOnly {
		a.deeds = append(a.deeds, pathDeed(reads, p))
	}
}
