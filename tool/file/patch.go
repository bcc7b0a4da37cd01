package file

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/settle-agent/settle/tool"
)

// patchGrammar is the grammar, in Lark's notation, that Codex gives GPT-5 models for this
// tool (openai/codex, codex-rs: tool_apply_patch.lark).
const patchGrammar = `start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
`

var patchSchema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{
	"type": "object",
	"properties": {
		"input": {"type": "string", "minLength": 1, "description": "The whole patch, from *** Begin Patch to *** End Patch."}
	},
	"required": ["input"],
	"additionalProperties": false
}`)
})

const patchDescription = `Changes files by a patch. Either all of it applies or nothing is written.

*** Begin Patch
*** Update File: path/of/file.py
@@ def function_around_the_change():
 line of context
-line to remove
+line to add
 line of context
*** Add File: path/of/new.py
+every line begins with a plus
*** Delete File: path/of/old.py
*** End Patch

Paths are relative to the working directory or absolute. "*** Move to: path" after an Update File line renames the file. ` +
	`Give three lines of context around each change, exactly as they are in the file; where they occur more than once, name the line of the class or function after @@. ` +
	`"*** End of File" after a change says that it ends the file. Changes of a file are in the file's order.`

// patchTool returns the tool apply_patch.
func (w *Workspace) patchTool() tool.Tool {
	return tool.Must(tool.New("apply_patch", patchDescription,
		w.callPatch, patchSchema(), tool.WithGrammar(patchGrammar), tool.WithTitle(PatchArguments.title)))
}

// title names the files of a patch, also of a patch that does not parse.
func (in PatchArguments) title() string {
	var paths []string
	for l := range strings.Lines(in.Input) {
		for _, kind := range []opKind{opAdd, opDelete, opUpdate} {
			if path, ok := strings.CutPrefix(l, "*** "+string(kind)+":"); ok {
				paths = append(paths, strings.TrimSpace(path))
			}
		}
	}
	return "patch " + strings.Join(paths, ", ")
}

func (w *Workspace) callPatch(ctx context.Context, in PatchArguments) (tool.Result, error) {
	call, _ := tool.CallFrom(ctx)
	ops, err := parsePatch(in.Input)
	if err != nil {
		return tool.Result{}, fmt.Errorf("%w\nNothing was written", err)
	}
	result, edited, err := w.patch(ctx, call, ops)
	if err != nil {
		return result, err
	}
	return w.checked(ctx, result, edited...), nil
}

// patch locks the files of a patch and applies it.
func (w *Workspace) patch(
	ctx context.Context, call tool.Call, ops []patchOp,
) (r tool.Result, edited []Edited, err error) {
	p := &plan{w: w, call: call, files: map[string]*planned{}}
	defer p.close()
	release, err := p.lock(ctx, ops)
	if err != nil {
		return tool.Result{}, nil, err
	}
	defer release()
	for _, op := range ops {
		if err := p.apply(ctx, op); err != nil {
			return tool.Result{}, nil, fmt.Errorf("%w\nNothing was written", err)
		}
	}
	for _, f := range p.inOrder() {
		edited = append(edited, f.edited(f.content))
	}
	r, err = p.carryOut(ctx)
	return r, edited, err
}
