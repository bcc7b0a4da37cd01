package house_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// layered are the packages that work on files in directories which a repository, a model
// or a command can change. They open, list, make and remove files through internal/disk:
// the place that was checked is the place that is used.
func layered() []string {
	return []string{
		"internal/client/commands", "internal/client/files", "internal/client/image", "internal/client/rewind", "internal/client/toolview",
		"internal/config", "internal/frontend/compat/execserver", "internal/executor", "internal/policy", "internal/prompt", "internal/repo", "internal/skills", "internal/agents",
		"tool/file", "tool/plan", "tool/search", "tool/skill",
	}
}

// byName are the functions that follow a path anew, by package.
func byName() map[string][]string {
	return map[string][]string{
		"os": {
			"Chmod", "Chown", "Chtimes", "CopyFS", "Create", "CreateTemp", "DirFS", "Lchown", "Link", "Lstat", "Mkdir", "MkdirAll", "MkdirTemp", "Open", "OpenFile", "OpenInRoot", "OpenRoot",
			"ReadDir", "ReadFile", "Readlink", "Remove", "RemoveAll", "Rename", "Stat", "Symlink", "Truncate", "WriteFile",
		},
		"path/filepath":           {"EvalSymlinks", "Glob", "Walk", "WalkDir"},
		module + "/internal/disk": {"OpenRegular", "Read", "ReadRegular", "Replace"},
	}
}

// byNameHere are the uses that are right, with the reason: by file, and by the function
// in it.
func byNameHere() map[string]string {
	const (
		ours     = "a directory of settle's own, which commands cannot change"
		users    = "the user's own file, by links that the user made"
		exists   = "whether there is something: nothing is read, and what is read later is checked"
		judged   = "what a shell command would find by its names: a judgement, and the command runs in a sandbox"
		ordinary = "it looks for what git would find, and refuses links; the sandbox grants nothing behind a folder that commands can change"
	)
	return map[string]string{
		"internal/config/started.go: keepStarted":                    ours,
		"internal/config/started.go: KeepChosen":                     ours,
		"internal/config/started.go: started":                        ours,
		"internal/client/commands/find.go: read":                     "names for the user; each file is read by Project.ReadFile",
		"internal/client/image/document.go: Add":                     users,
		"internal/client/files/list.go: tracked":                     "names for the user, of the working directory",
		"internal/client/image/image.go: Read":                       "a picture that a person or client names",
		"internal/client/rewind/restore.go: copyTo":                  ours,
		"internal/client/rewind/restore.go: writeSynced":             ours,
		"internal/client/rewind/restore.go: ReadSnapshot":            "a directory that the user names",
		"internal/client/rewind/restore.go: readManifest":            "a directory of the user or settle's own",
		"internal/client/rewind/last.go: snapshots":                  ours,
		"internal/client/rewind/last.go: snapshotsOf":                ours,
		"internal/config/document.go: readOwned":                     users,
		"internal/config/keep.go: Keep":                              users,
		"internal/config/keep.go: keepKey":                           users,
		"internal/config/key.go: readKey":                            users,
		"internal/config/mcpjson.go: Recorded":                       ours,
		"internal/frontend/compat/execserver/about.go: shell":        exists,
		"internal/frontend/compat/execserver/files.go: stat":         "the root directory, which nothing can replace",
		"internal/frontend/compat/execserver/start.go: lookUp":       "as exec(3) looks for a program in the PATH of a command",
		"internal/executor/denied.go: refused":                       exists,
		"internal/executor/guard.go: readProtected":                  "a folder that a policy names; below it, os.Root follows no link out",
		"internal/executor/guard.go: putBack":                        "a folder that a policy names; below it, os.Root follows no link out",
		"internal/executor/guard.go: openMounted":                    "a folder that a policy names; below it, os.Root follows no link out",
		"internal/executor/install.go: prepare":                      "settle's own program",
		"internal/executor/session_socket_unix.go: newSessionSocket": ours,
		"internal/executor/session_socket_unix.go: IsPrivate":        ours,
		"internal/executor/session_socket_unix.go: lock":             ours,
		"internal/executor/session_socket_unix.go: names":            ours,
		"internal/executor/session_socket_unix.go: leave":            ours,
		"internal/executor/session_socket_unix.go: listen":           ours,
		"internal/executor/listener.go: unlinkedFile":                ours,
		"internal/policy/files.go: changeableFiles":                  exists,
		"internal/policy/git_risk.go: isLocal":                       exists,
		"internal/policy/git_risk.go: readRemotes":                   judged,
		"internal/policy/command.go: part":                           judged,
		"internal/policy/command.go: read":                           judged,
		"internal/policy/command.go: walk":                           judged,
		"internal/policy/command.go: expand":                         judged,
		"internal/policy/environment.go: program":                    judged,
		"internal/policy/gitconfig.go: addConfig":                    judged,
		"internal/policy/gitconfig.go: Configs":                      judged,
		"internal/policy/gitconfig.go: content":                      "it checks the identity of the open file",
		"internal/policy/secret_record.go: read":                     ours,
		"internal/policy/secret_record.go: write":                    ours,
		"internal/policy/hidden.go: search":                          judged,
		"internal/policy/hidden.go: folder":                          judged,
		"internal/policy/hidden.go: read":                            judged,
		"internal/policy/repository.go: relativeHooks":               judged,
		"internal/policy/repository.go: credentials":                 judged,
		"internal/policy/repository.go: hasCredentials":              judged,
		"internal/policy/secret.go: mayBeRepository":                 judged,
		"internal/policy/stamp_other.go: stampOf":                    judged,
		"internal/prompt/environment.go: head":                       "a branch or an object, and nothing else, is taken from it",
		"internal/prompt/imports.go: locate":                         exists,
		"internal/prompt/nested.go: below":                           exists,
		"internal/prompt/nested.go: foreign":                         exists,
		"internal/prompt/project.go: content":                        exists,
		"internal/repo/candidates.go: gitDir":                        ordinary,
		"internal/repo/candidates.go: target":                        ordinary,
		"internal/repo/config.go: checkConfig":                       ordinary,
		"internal/repo/git.go: FindGit":                              ordinary,
		"internal/repo/git.go: workTree":                             ordinary,
		"internal/repo/git.go: content":                              ordinary,
		"internal/repo/git.go: exists":                               ordinary,
		"internal/repo/git.go: Check":                                ordinary,
		"internal/repo/git.go: Index":                                ordinary,
		"internal/repo/repo.go: Root":                                exists,
		"internal/repo/trust.go: speaks":                             exists,
		"internal/repo/trust.go: locateFile":                         "to whom a link belongs, before what it leads to is located",
		"internal/repo/trust.go: owns":                               "to whom a directory belongs",
		"internal/repo/trust.go: harmless":                           "to whom a directory belongs",
		"internal/repo/trust.go: actual":                             "to whom a directory belongs",
		"internal/prompt/rules.go: ruleFiles":                        "names; each rule is read by Project.Read",
		"internal/skills/find.go: folders":                           "names; each skill is read by Project.ReadFile",
		"internal/skills/find.go: walk":                              "names; each file is read by Project.ReadFile",
		"internal/skills/find.go: look":                              "names; each skill is read by Project.ReadFile",
		"internal/skills/sources.go: Read":                           users,
		"internal/agents/worktree.go: plan":                          "the session's own directory",
		"internal/agents/session_tree.go: relock":                    exists,
		"internal/agents/session_tree.go: take":                      ours,
		"internal/agents/session_tree.go: reopen":                    ours,
		"internal/agents/session_tree.go: clear":                     ours,
		"internal/agents/session_tree.go: compare":                   ours,
		"internal/agents/session_tree.go: open":                      ours,
		"internal/agents/session_tree.go: unlock":                    ours,
		"internal/agents/session_tree.go: Remains":                   ours,
		"internal/agents/worktree.go: Make":                          ours,
		"internal/agents/worktree.go: makeFolder":                    "settle's own worktree; below it, os.Root follows no link out",
		"internal/agents/worktree.go: admin":                         "compared, and not used",
		"internal/agents/worktree.go: fileText":                      "compared, and not used",
		"internal/agents/worktree_leave.go: Leave":                   exists,
		"internal/agents/worktree_leave.go: changed":                 exists,
		"internal/agents/worktree_leave.go: remove":                  ours,
		"internal/agents/worktree_leave.go: discardAll":              ours,
		"internal/agents/worktree_leave.go: deleteAll":               ours,
		"internal/agents/worktree_forsaken.go: isUnborn":             ours,
		"internal/agents/worktree_forsaken.go: leaveForsaken":        ours,
		"internal/agents/worktree_leave.go: countIndex":              "settle's own worktree; below it, os.Root follows no link out",
	}
}

// A checked file is opened through internal/disk, not by its name again.
func TestFilesAreOpenedThroughTheDiskLayer(t *testing.T) {
	right, used := byNameHere(), map[string]bool{}
	for _, s := range sources(t) {
		if s.test || !slices.Contains(layered(), s.dir) {
			continue
		}
		for _, u := range usesByName(s) {
			used[u.where] = true
			if right[u.where] == "" {
				t.Errorf(
					"%s:%d: %s follows a path anew: use internal/disk, or add %q to byNameHere with the reason", s.name,
					u.line, u.function, u.where,
				)
			}
		}
	}
	for where := range right {
		if !used[where] {
			t.Errorf("%q is in byNameHere, and follows no path", where)
		}
	}
}

// useByName is a function that is used and the place.
type useByName struct {
	where, function string
	line            int
}

func usesByName(s source) (list []useByName) {
	names := map[string][]string{} // the functions, by the package's name in the file
	for _, spec := range s.file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = byName()[path]
	}
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil && slices.Contains(names[x.Name], sel.Sel.Name) {
					list = append(
						list,
						useByName{
							fmt.Sprintf("%s: %s", s.name, f.Name.Name),
							x.Name + "." + sel.Sel.Name,
							s.line(sel.Pos()),
						},
					)
				}
			}
			return true
		})
	}
	return list
}
