package claude

import (
	"fmt"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/client/asker/askertest"
	"github.com/settle-agent/settle/model/script"
)

// With the permission deny, a session is read-only and not in plan mode: it has no plan to present.
func TestDenyIsNoPlanMode(t *testing.T) {
	p := policy{ceiling: settle.Deny}
	if err := p.set(modeFor(settle.Deny)); err != nil {
		t.Fatal(err)
	}
	if m := p.inForce.Mode(); m.Plan || m.Permission != settle.Deny || p.inForceMode() != modeDont {
		t.Errorf("the mode is %+v", m)
	}
	for name, may := range map[string]bool{modePlan: true, modeDont: true, modeDefault: false, modeBypass: false} {
		if err := p.set(name); (err == nil) != may {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m := p.inForce.Mode(); m.Permission != settle.Deny {
		t.Errorf("the permission is %s", m.Permission)
	}
}

// A client can only tighten the user's configuration: with a mode at the beginning or later, with
// allowed tools, or with settings.
func TestModeWithinTheUsersPermission(t *testing.T) {
	for _, test := range askertest.Ceilings() {
		for name, c := range map[string]struct {
			change func(*Config)
			later  string
		}{
			"mode":          {func(o *Config) { o.Mode, o.MayBypass = modeBypass, true }, ""},
			"later":         {func(o *Config) { o.MayBypass = true }, `{"subtype":"set_permission_mode","mode":"bypassPermissions"}`},
			"allowed tools": {func(o *Config) { o.Allowed = []string{"Bash"} }, ""},
			"settings":      {func(*Config) {}, `{"subtype":"apply_flag_settings","settings":{"permissions":{"allow":["Bash"]}}}`},
		} {
			t.Run(test.User+" "+name, func(t *testing.T) {
				var dir string
				s := serve(t, func(o *Config) {
					o.Asks, dir = true, o.Dir
					c.change(o)
					test.Configure(t, o.Dir)
				}, script.Text("first"), script.Call("shell", askertest.Touch), script.Text("done"))
				s.say(user("hello", "00000000-0000-4000-8000-000000000001"))
				s.until("result")
				if c.later != "" {
					s.say(control("later", c.later))
					s.until("control_response")
				}
				s.say(user("go", "00000000-0000-4000-8000-000000000002"))
				asked := 0
				for over := false; !over; {
					m := <-s.output
					switch m["type"] {
					case "control_request":
						asked++
						s.say(
							fmt.Sprintf(
								`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"behavior":"deny","message":"no"}}}`,
								m["request_id"],
							),
						)
					case "result", nil:
						over = true
					}
				}
				test.Check(t, dir, asked)
			})
		}
	}
}
