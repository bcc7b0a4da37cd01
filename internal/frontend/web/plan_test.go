package web_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// planning serves sessions whose model writes, presents a plan and writes again.
func planning(t *testing.T, permission string) (b *harness, dir string) {
	m := script.New(
		script.Turn(script.Call("write", `{"path":"early","content":"x"}`)),
		script.Turn(script.Call("propose_plan", `{"plan":"Write."}`)),
		script.Turn(script.Call("write", `{"path":"late","content":"x"}`)),
		script.Text("Done."),
		script.Turn(script.Call("propose_plan", `{"plan":"Write."}`)),
		script.Turn(script.Call("write", `{"path":"late","content":"x"}`)),
	).Otherwise(script.Text("Done."))
	b = adjustable(t, permission, func(o *assemble.Options) {
		o.Model, dir = model.Config{Provider: m, ProviderName: "script", Name: "m"}, o.Dir
	})
	return b, dir
}

// presented waits for a plan, and returns its approval.
func presented(b *harness, session string) string {
	b.Helper()
	e := b.until(session, func(e event.Event) bool {
		d, ok := e.Data.(event.ApprovalRequested)
		return ok && d.Text != "" // a denial by the policy has none
	})
	return e.Data.(event.ApprovalRequested).Approval
}

// A plan that is accepted over HTTP begins the work of its session only.
func TestPlanModeOfSession(t *testing.T) {
	b, dir := planning(t, "")
	session, other := b.session("first"), b.session("second")
	ask[object](b, "POST", session+"/settings", object{"permission": "plan"}, 200)
	fork := func(want string) {
		t.Helper()
		id := ask[object](b, "POST", session+"/fork", object{}, 201)["id"].(string)
		ask[object](b, "POST", "/api/sessions", object{"id": id}, 201)
		b.diff("a copy", want, ask[object](b, "GET", "/api/sessions/"+id, nil, 200)["permission"])
	}
	b.input(session, "plan it")
	id := presented(b, session)
	if _, err := os.Stat(filepath.Join(dir, "early")); !os.IsNotExist(err) {
		t.Error("plan mode changed a file:", err)
	}
	ask[object](b, "POST", session+"/approvals/"+id, object{"verdict": "approved", "permission": "accept-edits"}, 204)
	b.until(session, event.Event.Terminal)
	if _, err := os.Stat(filepath.Join(dir, "late")); err != nil {
		t.Error(err)
	}
	seen := func(path string) any { return ask[object](b, "GET", path, nil, 200)["permission"] }
	b.diff("the session", "accept-edits", seen(session))
	b.diff("another one", "ask", seen(other))
	ask[object](b, "DELETE", session, nil, 204)
	ask[object](b, "POST", "/api/sessions", object{"id": "first"}, 201)
	b.diff("opened again", "accept-edits", seen(session))
	fork("ask")
	ask[object](b, "POST", session+"/settings", object{"permission": "plan"}, 200)
	fork("plan")
	ask[object](b, "POST", session+"/settings", object{"permission": "read-only"}, 200)
	fork("read-only")
}

// A session whose log ended in plan mode keeps the permission with which its plan was accepted, also
// after it was closed; copies of a closed session begin in plan mode.
func TestAcceptedPermissionOutlivesClosing(t *testing.T) {
	b, dir := planning(t, "allow")
	session := b.session("first")
	ask[object](b, "POST", session+"/settings", object{"permission": "plan"}, 200)
	b.input(session, "plan it")
	ask[object](b, "POST", session+"/approvals/"+presented(b, session), object{"verdict": "denied"}, 204)
	b.until(session, event.Event.Terminal)
	ask[object](b, "DELETE", session, nil, 204)
	if err := store.Fork(t.Context(), b.web.DataDir, "first", "copy"); err != nil { // as another process does
		t.Fatal(err)
	}
	back := ask[object](b, "POST", "/api/sessions/copy/rewind", object{"keep_files": true}, 201)["id"].(string)
	seen := func(id string) any {
		ask[object](b, "POST", "/api/sessions", object{"id": id}, 201)
		return ask[object](b, "GET", "/api/sessions/"+id, nil, 200)["permission"]
	}
	b.diff("a copy of a closed session", "plan", seen(back))
	b.diff("another process's copy", "plan", seen("copy"))
	copied := "/api/sessions/copy"
	b.input(copied, "plan it again")
	asks := func(tool string) string {
		e := b.until(copied, func(e event.Event) bool {
			d, ok := e.Data.(event.ApprovalRequested)
			return ok && e.Turn == "t000002" && d.Tool == tool && d.Text != ""
		})
		return e.Data.(event.ApprovalRequested).Approval
	}
	accept := copied + "/approvals/" + asks("propose_plan")
	ask[object](b, "POST", accept, object{"verdict": "approved", "permission": "ask"}, 204)
	asks("write")
	if _, err := os.Stat(filepath.Join(dir, "late")); !os.IsNotExist(err) {
		t.Error("the work did not ask:", err)
	}
	ask[object](b, "DELETE", copied, nil, 204)
	b.diff("opened again", "ask", seen("copy"))
}

// No client accepts a plan with more than the user configured.
func TestPlanWithinCeiling(t *testing.T) {
	b, dir := planning(t, "ask")
	session := b.session("first")
	ask[object](b, "POST", session+"/settings", object{"permission": "plan"}, 200)
	b.input(session, "plan it")
	answers := session + "/approvals/" + presented(b, session)
	ask[object](b, "POST", answers, object{"verdict": "approved", "permission": "allow"}, 403)
	ask[object](b, "POST", answers, object{"verdict": "denied"}, 204)
	b.until(session, event.Event.Terminal)
	if _, err := os.Stat(filepath.Join(dir, "late")); !os.IsNotExist(err) {
		t.Error("plan mode changed a file:", err)
	}
}
