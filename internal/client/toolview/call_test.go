package toolview_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/plan"
	"github.com/settle-agent/settle/tool/search"
	"github.com/settle-agent/settle/tool/shell"
)

func tools() []tool.Tool {
	return slices.Concat(
		shell.NewJobs(shell.Config{Outside: true}).Tools(), file.NewWorkspace(file.Config{}).Tools(),
		search.Tools(search.Config{}), []tool.Tool{plan.New()},
	)
}

// The exported argument types have exactly the arguments of the tools' schemas.
func TestArgumentTypes(t *testing.T) {
	types := map[string]any{
		"shell": shell.Arguments{}, "job": shell.JobArguments{}, "read": file.ReadArguments{}, "write": file.WriteArguments{},
		"edit": file.EditArguments{}, "apply_patch": file.PatchArguments{}, "glob": search.GlobArguments{},
		"grep": search.GrepArguments{}, "list": search.ListArguments{}, plan.Name: plan.Arguments{},
	}
	for _, one := range tools() {
		spec := one.Spec()
		var schema struct {
			Properties map[string]struct{ Type string }
			Required   []string
		}
		if err := json.Unmarshal(spec.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		if toolview.KindOf(spec.Name) == toolview.Misc {
			t.Errorf("%s has no kind", spec.Name)
		}
		arguments, ok := types[spec.Name]
		if !ok {
			t.Errorf("%s has no type of arguments here", spec.Name)
			continue
		}
		kinds := map[reflect.Kind]string{
			reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer",
			reflect.Float64: "integer", reflect.Slice: "array",
		}
		got := map[string]struct{ Type string }{}
		var required []string
		for f := range reflect.TypeOf(arguments).Fields() {
			name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
			got[name] = struct{ Type string }{kinds[f.Type.Kind()]}
			if option == "" {
				required = append(required, name)
			}
		}
		if diff := cmp.Diff(schema.Properties, got); diff != "" {
			t.Errorf("%s (-schema +type):\n%s", spec.Name, diff)
		}
		if diff := cmp.Diff(schema.Required, required); diff != "" {
			t.Errorf("%s, required (-schema +type):\n%s", spec.Name, diff)
		}
	}
}

func TestCall(t *testing.T) {
	const patch = `{"input":"*** Begin Patch\n*** Add File: new\n+x\n*** Update File: old\n*** Move to: /abs/moved\n*** End Patch"}`
	for name, tt := range map[string]struct {
		tool, arguments string
		want            toolview.Call
		paths           []string
	}{
		"command": {
			"shell", `{"command":"a\nb","workdir":"sub","background":true,"release":true}`,
			toolview.Call{Kind: toolview.Command, Command: "a\nb", Dir: "/w/sub", Background: true, Release: true},
			nil,
		},
		"command elsewhere": {
			"shell", `{"command":"a","workdir":"/x"}`,
			toolview.Call{Kind: toolview.Command, Command: "a", Dir: "/x"},
			nil,
		},
		"arguments are no JSON": {
			"shell", `{"command":`,
			toolview.Call{Kind: toolview.Command, Arguments: json.RawMessage(`"{\"command\":"`)},
			nil,
		},
		"argument of the wrong type": {
			"shell", `{"command":7,"workdir":"sub"}`, toolview.Call{Kind: toolview.Command}, nil,
		},
		"read": {
			"read", `{"path":"a","offset":7}`,
			toolview.Call{Kind: toolview.Read, Path: "a", Line: 7},
			[]string{"/w/a"},
		},
		"write": {
			"write", `{"path":"/a","content":""}`, toolview.Call{Kind: toolview.Edit, Path: "/a"}, []string{"/a"},
		},
		"edit": {
			"edit", `{"path":"a","old_string":"x","new_string":"y"}`,
			toolview.Call{Kind: toolview.Edit, Path: "a"},
			[]string{"/w/a"},
		},
		"patch": {
			"apply_patch", patch, toolview.Call{Kind: toolview.Edit}, []string{"/w/new", "/w/old", "/abs/moved"},
		},
		"a patch that the tool refuses": {
			"apply_patch", `{"input":"*** Begin"}`, toolview.Call{Kind: toolview.Edit}, nil,
		},
		"a patch under another tool's argument": {
			"apply_patch", `{"patch":"*** Begin Patch\n*** Delete File: a\n*** End Patch"}`,
			toolview.Call{Kind: toolview.Edit},
			nil,
		},
		"grep": {
			"grep", `{"pattern":"x","path":"sub"}`,
			toolview.Call{Kind: toolview.Search, Pattern: "x", Path: "sub"},
			[]string{"/w/sub"},
		},
		"glob": {
			"glob", `{"pattern":"*.go"}`, toolview.Call{Kind: toolview.Search, Pattern: "*.go"}, nil,
		},
		"list": {
			"list", `{"path":"."}`, toolview.Call{Kind: toolview.List, Path: "."}, []string{"/w"},
		},
		"plan": {
			"plan", `{"plan":[{"step":"Look.","status":"pending"}]}`,
			toolview.Call{Kind: toolview.Plan, Plan: plan.Arguments{Plan: []plan.Step{{Step: "Look.", Status: plan.Pending}}}},
			nil,
		},
		"a search of the web": {"web_search", `{"query":" go "}`, toolview.Call{Kind: toolview.Web, Pattern: "go"}, nil},
		"somebody else's":     {"deploy", `{"path":"a"}`, toolview.Call{Kind: toolview.Misc}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := toolview.New(tt.tool, tt.arguments, "/w")
			if diff := cmp.Diff(tt.paths, got.Paths()); diff != "" {
				t.Error(diff)
			}
			tt.want.Tool = tt.tool
			if tt.want.Dir == "" {
				tt.want.Dir = "/w"
			}
			if tt.want.Arguments == nil {
				tt.want.Arguments = json.RawMessage(tt.arguments)
			}
			if diff := cmp.Diff(
				tt.want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "patch" }, cmp.Ignore()),
			); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Calls of settle's tools that have no field of their own have a title, and not their JSON.
func TestTitles(t *testing.T) {
	for _, c := range [][3]string{
		{"task", `{"description":"find the bug","prompt":"p"}`, "task: find the bug"},
		{"task", `{"agent":"demo:critic","description":"read it","prompt":"p"}`, "demo:critic: read it"},
		{"task", `{"agent":"look","prompt":"p"}`, "look"},
		{"task", `{"prompt":"p"}`, "task"},
		{"task", `{"prompt":`, ""},
		{"check_task", `{"task":"c1","wait_ms":5}`, "check task c1"},
		{"check_task", `{}`, "check task"},
		{"message_task", `{"task":"c1","message":"m"}`, "message to task c1"},
		{"cancel_task", `{"task":"c1"}`, "cancel task c1"},
		{"job", `{"action":"output","job":"j1"}`, "job output j1"},
		{"skill", `{"name":"tidy","arguments":"src"}`, "skill tidy src"},
		{"web_fetch", `{"url":"https://example.com"}`, "fetch https://example.com"},
		{"code", `{"action":"references","name":"Open","path":"a.go"}`, "references of Open in a.go"},
		{"files__read", `{"path":"x"}`, ""},
	} {
		if got := toolview.New(c[0], c[1], "/w").Title; got != c[2] {
			t.Errorf("%s %s is %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
