package execserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/sandbox"
)

// sandboxContext has the permissions that a client grants one request. The protocol's other fields
// are for other platforms.
type sandboxContext struct {
	Permissions struct {
		Type  string `json:"type"`
		Files *struct {
			Type    string        `json:"type"`
			Entries []sandboxRule `json:"entries"`
		} `json:"file_system"`
		Network json.RawMessage `json:"network"`
	} `json:"permissions"`
	Dir   place   `json:"cwd"`
	Roots []place `json:"workspaceRoots"`
}

type sandboxRule struct {
	Path struct {
		Type    string          `json:"type"`
		Path    json.RawMessage `json:"path"`
		Pattern string          `json:"pattern"`
		Value   struct {
			Kind    string `json:"kind"`
			Subpath string `json:"subpath"`
		} `json:"value"`
	} `json:"path"`
	Access  string `json:"access"`
	Missing string `json:"missing_path_behavior"`
}

// access is the allowed access to a path; a higher value allows more.
type access int

const (
	denied access = iota
	readable
	writable
)

// grant is the access to a path and all paths below it. The longest path applies.
type grant struct {
	path   string
	access access
	skip   bool // it does not count while the path does not exist
}

// rights are the permissions of a request. The zero value allows everything that the user of the
// server can do.
type rights struct {
	confined bool
	grants   []grant
	online   bool
}

// rights reads a client's sandbox rules. A rule that cannot be read is refused, since it
// could not be enforced (C22).
func (s *Server) rights(from *sandboxContext) (rights, error) {
	if from == nil {
		return rights{}, nil
	}
	p := from.Permissions
	switch p.Type {
	case "disabled", "external": // no sandbox is requested: with external, another program confines the process
		return rights{}, nil
	case "managed":
	default:
		return rights{}, unenforced("the permissions %q", p.Type)
	}
	r := rights{confined: true}
	switch strings.Trim(string(p.Network), `"`) {
	case "restricted":
	case "enabled":
		r.online = true
	default:
		return r, unenforced("the network %s", p.Network)
	}
	switch {
	case p.Files == nil:
		return r, unenforced("permissions without a file system")
	case p.Files.Type == "unrestricted":
		r.grants = []grant{{path: string(filepath.Separator), access: writable}}
	case p.Files.Type != "restricted":
		return r, unenforced("the file system %q", p.Files.Type)
	}
	for _, rule := range p.Files.Entries {
		paths, err := s.paths(rule, from)
		if err != nil {
			return r, err
		}
		level, ok := map[string]access{"none": denied, "deny": denied, "read": readable, "write": writable}[rule.Access]
		if !ok {
			return r, unenforced("the access %q", rule.Access)
		}
		for _, path := range paths {
			r.grants = append(r.grants, grant{path, level, rule.Missing == "skip"})
		}
	}
	return r, resolve(r.grants)
}

// resolve follows the links of the paths of rules. In a folder that another rule lets the client's
// commands write to, no link is followed: such a command may have made the link, and would choose
// the path of the rule.
func resolve(grants []grant) error {
	named := slices.Clone(grants)
	for n, g := range named {
		folder := ""
		for _, name := range named {
			if name.access == writable && name.path != g.path && disk.Within(name.path, g.path) &&
				(folder == "" || len(name.path) < len(folder)) {
				folder = name.path
			}
		}
		below, err := filepath.Rel(cmp.Or(folder, g.path), g.path)
		if err != nil {
			return unenforced("a rule for %q (%v)", g.path, err)
		}
		real, err := disk.Resolve(cmp.Or(folder, g.path))
		if err != nil {
			return unenforced("a rule for %q (%v)", g.path, err)
		}
		grants[n].path = filepath.Join(real, below)
	}
	return nil
}

func unenforced(format string, args ...any) error {
	return invalidRequest("cannot enforce %s; nothing was done", fmt.Sprintf(format, args...))
}

// paths returns the paths of a rule, as the client names them.
func (s *Server) paths(rule sandboxRule, from *sandboxContext) ([]string, error) {
	var all []string
	switch rule.Path.Type {
	case "path":
		var at place
		if json.Unmarshal(rule.Path.Path, &at) != nil || at == "" {
			var plain string
			if json.Unmarshal(rule.Path.Path, &plain) != nil || !filepath.IsAbs(plain) {
				return nil, unenforced("the path %s", rule.Path.Path)
			}
			at = place(plain)
		}
		all = []string{filepath.Clean(string(at))}
	case "special":
		var err error
		if all, err = s.special(rule.Path.Value.Kind, from); err != nil {
			return nil, err
		}
	default:
		return nil, unenforced("a rule for a %q", rule.Path.Type)
	}
	if sub := rule.Path.Value.Subpath; sub != "" {
		if !filepath.IsLocal(sub) {
			return nil, unenforced("the path %q", sub)
		}
		for i := range all {
			all[i] = filepath.Join(all[i], sub)
		}
	}
	return all, nil
}

// special are the paths that a client means without knowing them.
func (s *Server) special(kind string, from *sandboxContext) ([]string, error) {
	switch kind {
	case "root":
		return []string{string(filepath.Separator)}, nil
	case "project_roots", "current_working_directory":
		var all []string
		for _, root := range from.Roots {
			all = append(all, string(root))
		}
		if len(all) == 0 && from.Dir != "" {
			all = []string{string(from.Dir)}
		}
		if len(all) == 0 {
			return nil, unenforced("a workspace without a folder")
		}
		return all, nil
	case "slash_tmp":
		return []string{"/tmp"}, nil
	case "tmpdir":
		return []string{s.options.TempDir}, nil
	}
	return nil, unenforced("a rule for %q", kind)
}

// may returns the access to a path, which has no links.
func (r rights) may(path string) access {
	if !r.confined {
		return writable
	}
	best := grant{access: denied}
	for _, g := range r.grants {
		if !disk.Within(g.path, path) {
			continue
		}
		if longer := cmp.Compare(len(g.path), len(best.path)); longer > 0 || longer == 0 &&
			(best.path == "" || g.access < best.access) {
			best = g
		}
	}
	return best.access
}

// mayTree returns the least access to a path and all paths below it that a rule names.
func (r rights) mayTree(path string) access {
	least := r.may(path)
	for _, g := range r.grants {
		if disk.Within(path, g.path) {
			least = min(least, r.may(g.path))
		}
	}
	return least
}

// policy returns the sandbox policy of a command; nil for none.
func (r rights) policy() (*sandbox.Policy, error) {
	if !r.confined ||
		r.online && r.may(string(filepath.Separator)) == writable && r.mayTree(string(filepath.Separator)) == writable {
		return nil, nil // there is none
	}
	if runtime.GOOS != "linux" {
		return nil, unenforced("a sandbox on this platform")
	}
	policy := &sandbox.Policy{}
	if r.online {
		policy.Network = sandbox.Online
	}
	for _, g := range r.grants {
		level, outer := r.may(g.path), r.outside(g.path)
		switch {
		case level < outer && !(g.skip && !disk.Exists(g.path)): // the kernel's rules only add
			return nil, unenforced("a sandbox that protects %q in a folder which a command may read or write", g.path)
		case level == writable:
			policy.Write = append(policy.Write, g.path)
		case level == readable:
			policy.Read = append(policy.Read, g.path)
		}
	}
	slices.Sort(policy.Read)
	slices.Sort(policy.Write)
	policy.Read, policy.Write = slices.Compact(policy.Read), slices.Compact(policy.Write)
	steady := policy.Steady(policy.Write)
	return &steady, nil
}

// outside is the access to a path if nothing spoke of it itself.
func (r rights) outside(path string) access {
	return rights{
		confined: true,
		grants:   slices.DeleteFunc(slices.Clone(r.grants), func(g grant) bool { return g.path == path }),
	}.may(
		path,
	)
}
