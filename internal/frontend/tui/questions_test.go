package tui

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// echoShell is a shell that returns its arguments.
type echoShell struct{ slowShell }

func (echoShell) Run(_ context.Context, c tool.Call) (tool.Result, error) {
	return tool.Result{Output: "ran " + string(c.Args)}, nil
}

// newAskingPerson returns a person whose model calls the shell again and again.
func newAskingPerson(t *testing.T, calls int) (person, chan int, *script.Model) {
	t.Helper()
	m := script.New()
	for range calls {
		m.Add(script.Turn(script.Call("shell", `{"command":"rm -r <docs>","background":false}`)))
	}
	m.Add(script.Text("done"))
	p, code := newPersonOf(t, Options{}, settle.SessionConfig{
		Model:   model.Config{Provider: m, ProviderName: "script", Name: "m"},
		WorkDir: "/w", Permission: settle.Ask, Attended: true, Tools: []tool.Tool{echoShell{}},
	})
	p.types("go\r")
	return p, code, m
}

// sent returns the last request of the model as text.
func sent(m *script.Model) string {
	requests := m.Requests()
	return fmt.Sprintf("%+v", requests[len(requests)-1])
}

// A question has a menu, in the words of the table of terms. Arrows, numbers and letters choose,
// and each answer has the effect that it states.
func TestQuestionMenu(t *testing.T) {
	for name, tc := range map[string]struct{ keys, sees, sent string }{
		"enter":   {"\r", `│ ran {"command":"rm -r <docs>"`, "ran"},
		"arrows":  {"\x1b[B \x1b[B \x1b[B \x1b[A \x1b[A \x1b[A \r", "✓ $ rm -r <docs>", "ran"},
		"number":  {"3", "✗ $ rm -r <docs>  denied", "The user did not allow"},
		"instead": {"i use_git\r", "│ Message to the model: use git", "They said: use git"},
		"explain": {"e", "│ The model explains the effects first.", "They said: Do not make this call yet."},
		"edit": {
			"\t \x7f\x7f\x7f\x7f\x7f\x7fsrc\r", "✓ $ rm -r src",
			`[The user changed this call. It ran with these arguments: {"background":false,"command":"rm -r src"}]`,
		},
		"back": {"\t x \x1b n", "✗ $ rm -r <docs>", "The user did not allow"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, code, m := newAskingPerson(t, 1)
			for n, v := range []event.Verdict{event.Approved, event.ApprovedSession} {
				p.sees([]string{"1 ", "2 "}[n] + v.Words())
			}
			p.sees(
				"Allow this command?", "› 1", "3 deny", "6 "+event.ApprovalAborted.Words(), "  Esc",
				"7 edit the command, then run it",
			)
			for key := range strings.SplitSeq(tc.keys, " ") {
				p.types(strings.ReplaceAll(key, "_", " "))
			}
			p.sees(tc.sees)
			if got := sent(m); !strings.Contains(got, tc.sent) {
				t.Errorf("%s: the model received %s", name, got)
			}
			p.types("\x04")
			p.left(code, 0)
		})
	}
}

// A call that waits when the person quits is held, and the session says who closed it.
func TestQuitHoldsWaitingCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code, _ := newAskingPerson(t, 1)
		p.types("\x04")
		p.left(code, 0)
		p.sees("■ $ rm -r <docs>  held: settle asks again when you", "settle approvals", "■ you closed the session after")
		p.misses("not started")
		if n := strings.Count(strings.Join(p.tty.rows(), "\n"), "? settle asks before this call"); n != 1 {
			t.Errorf("the question is shown %d times", n)
		}
	})
}

// A question that the output of a parallel call has separated from its answers is shown with them again.
func TestQuestionStaysWithItsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		printed := make(chan struct{})
		long, err := tool.New("long", "Prints.", func(context.Context, struct{}) (string, error) {
			<-printed
			return strings.Repeat("a row\n", 60), nil
		}, tool.ReadOnly())
		if err != nil {
			t.Fatal(err)
		}
		m := script.New(
			script.Turn(script.Call("long", `{}`), script.Call("shell", `{"command":"rm -r <docs>"}`)),
			script.Text("done"),
		)
		p, code := newPersonOf(t, Options{}, settle.SessionConfig{
			Model:   model.Config{Provider: m, ProviderName: "script", Name: "m"},
			WorkDir: "/w", Permission: settle.Ask, Attended: true, Tools: []tool.Tool{echoShell{}, long},
		})
		p.types("go\r")
		asked := func() (times int, below bool) {
			all := strings.Join(p.tty.rows(), "\n")
			_, rest, _ := strings.Cut(all, "Allow this command?")
			return strings.Count(all, "Asked because "), strings.Contains(rest, "Asked because ")
		}
		if times, below := asked(); times != 1 || below {
			t.Errorf("the reason is shown %d times, with the answers: %t", times, below)
		}
		close(printed)
		time.Sleep(time.Second)
		synctest.Wait()
		if _, below := asked(); !below {
			t.Errorf("the answers are without the reason:\n%s", strings.Join(p.tty.rows(), "\n"))
		}
		p.types("y")
		p.sees("allowed once: $ rm -r <docs>", "done")
		p.types("\x04")
		p.left(code, 0)
	})
}

// Several questions of one response are asked in the order of their calls, one after the other, each in
// the same words and directly below its own call.
func TestQuestionsOfSeveralCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script.New(script.Turn(
			script.Call("shell", `{"command":"rm one"}`), script.Call("shell", `{"command":"rm two"}`),
			script.Call("shell", `{"command":"rm three"}`),
		), script.Text("done"))
		p, code := newPersonOf(t, Options{}, settle.SessionConfig{
			Model:   model.Config{Provider: m, ProviderName: "script", Name: "m"},
			WorkDir: "/w", Permission: settle.Ask, Attended: true, Tools: []tool.Tool{echoShell{}},
		})
		p.types("go\r")
		for n, name := range []string{"one", "two", "three"} {
			rows := strings.Join(p.tty.rows(), "\n")
			block := rows[max(strings.LastIndex(rows, "? settle asks before this call"), 0):]
			head := "Allow this command?  $ rm " + name
			if !strings.Contains(block, "      rm "+name) || !strings.Contains(block, head) {
				t.Errorf("question %d is not about rm %s:\n%s", n+1, name, rows)
			}
			if asked := strings.Count(rows, "? settle asks before this call"); asked != n+1 {
				t.Errorf("%d questions are shown after %d answers:\n%s", asked, n, rows)
			}
			p.types("y")
		}
		p.sees("done")
		p.types("\x04")
		p.left(code, 0)
	})
}

// No row of a question into which text of the model continues begins where settle's own rows begin, at any
// width of a terminal.
func TestQuestionIndentsTextOfModel(t *testing.T) {
	long := strings.Repeat("x ", 40) + "Asked because it reads only  in: /safe  [allow] ls " + strings.Repeat("y", 200)
	a := &event.Approval{ApprovalRequested: event.ApprovalRequested{
		Approval: "p", Tool: "shell",
		Text: "shell\n  path: " + long + "\n  command:\n      " + long + "\n  leads to: " + long + "\n  in: /w\n" +
			"  step by step:\n      [ask] " + long,
		Why: "it writes " + long, Covers: long,
	}}
	own := []string{
		"?", "shell", "path:", "command:", "leads", "in:", "step", "[ask]", "Asked", "s ", "x x",
	}
	for width := 12; width < 120; width++ {
		for n, row := range askEntry(a, "/w", "s", "Ctrl-T").rows(width) {
			text := strings.TrimLeft(row.Text(), " ")
			indent := len(row.Text()) - len(text)
			begins := func(with string) bool { return strings.HasPrefix(text, with) }
			if n > 0 && indent < 8 && !slices.ContainsFunc(own, begins) {
				t.Fatalf("width %d, row %d has the indent %d: %q", width, n, indent, row.Text())
			}
			if indent == 4 && begins("Asked") || indent == 2 && begins("in:") {
				t.Fatalf("width %d, row %d: %q", width, n, row.Text())
			}
		}
	}
	numbered := diffLine{sign: '+', number: 123456, text: long}
	for width := 4; width < 120; width++ {
		rows := numbered.rows(width)
		for n, row := range rows[1:] {
			first, indent := 11, len(row.Text())-len(strings.TrimLeft(row.Text(), " "))
			if indent < min(first, width/2) {
				t.Fatalf("width %d, row %d of a diff has the indent %d: %q", width, n+1, indent, row.Text())
			}
		}
	}
}

// The question names the call, and its answer stays on the screen.
func TestAnswerIsShown(t *testing.T) {
	for key, want := range map[string]string{
		"y": "allowed once: $ rm -r <docs>", "s": "allowed for the session: $ rm -r <docs>",
	} {
		synctest.Test(t, func(t *testing.T) {
			p, code, _ := newAskingPerson(t, 1)
			p.sees("Asked because ", "s (for the session) also allows: ", "Allow this command?  $ rm -r <docs>")
			p.types(key)
			p.sees(want, "✓ $ rm -r <docs>")
			p.types("\x04")
			p.left(code, 0)
		})
	}
}

// A question that another client answers says so, with the answer.
func TestAnswerElsewhereIsShown(t *testing.T) {
	for verdict, want := range map[event.Verdict]string{
		event.Approved: "answered elsewhere: allowed once: $ make", event.Denied: "answered elsewhere: denied: $ make",
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &rich{}
			p, code := newPersonWith(t, "/w", echoShell{}, Options{Sessions: r},
				script.Turn(script.Call("shell", `{"command":"make"}`)), script.Text("done"))
			p.types("go\r")
			p.sees("Allow this command?  $ make")
			a := settle.Answer{Approval: r.talk.State().OpenApprovals()[0].Approval, Verdict: verdict, By: "user"}
			if err := r.talk.Answer(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			p.types("") // time passes
			p.sees(want, "done")
			p.types("\x04")
			p.left(code, 0)
		})
	}
}

// A key that comes just after the end of a question is no text, also if another question follows.
func TestLateAnswerKeyIsNoText(t *testing.T) {
	for _, calls := range []int{1, 2} {
		for _, key := range []string{"y", "n", "1", "3", "\x1b[A", "\r"} {
			synctest.Test(t, func(t *testing.T) {
				p, code, _ := newAskingPerson(t, calls)
				if _, err := p.to.Write([]byte("y")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
				p.types(key)
				p.misses("> y", "> n", "> 1", "> 3", "> go")
				if calls == 2 {
					p.sees("1 allow once")
					p.types("n")
				}
				p.types("yes")
				p.sees("> yes")
				p.types("\x03\x04")
				p.left(code, 0)
			})
		}
	}
}

// A command that the person edited is the one that the answer, the call's row and the transcript show.
func TestEditedAnswerIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code, _ := newAskingPerson(t, 1)
		p.types("\t")
		p.types("\x7f\x7f\x7f\x7f\x7f\x7fsrc\r")
		p.sees("allowed once, edited: $ rm -r src", "✓ $ rm -r src", "(you changed it)")
		p.misses("edited: $ rm -r <docs>")
		p.types("\x14") // Ctrl-T
		p.sees("✓ $ rm -r src", "(you changed it)")
		p.types("q\x04")
		p.left(code, 0)
	})
}

// A call that the policy denies itself is no question: nobody is asked, and no bell rings.
func TestDenialByPolicyIsNoQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code := newPersonOf(t, Options{}, settle.SessionConfig{
			Model: model.Config{
				Provider: script.New(
					script.Turn(script.Call("shell", `{"command":"make"}`), script.Delay(3*time.Second)),
					script.Stall(),
				), ProviderName: "script", Name: "m",
			},
			WorkDir: "/w", Permission: settle.Deny, Attended: true, Tools: []tool.Tool{echoShell{}},
		})
		p.types("go\r\x1b[O")
		p.types("")
		p.sees("✗ $ make  denied")
		p.misses("settle asks")
		if got := p.bells(); got != 0 {
			t.Errorf("%d bells", got)
		}
		p.types("\x1b")
		p.types("\x04")
		p.left(code, 0)
	})
}

// Esc goes back from the text of an answer to the answers, and keeps the text; a second Esc stops the turn.
func TestEscKeepsTypedAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code, m := newAskingPerson(t, 1)
		p.types("ino, sync")
		p.sees("> no, sync")
		p.types("\x1b")
		p.sees("1 allow once")
		p.types("\t")
		p.types("\x7f\x7f\x7f\x7f\x7f\x7fsrc\x1b")
		p.types("\t")
		p.sees("> rm -r src")
		p.types("\x1b")
		p.types("i")
		p.types(" it\r")
		if got := sent(m); !strings.Contains(got, "They said: no, sync it") {
			t.Errorf("the model received %s", got)
		}
		p.types("\x04")
		p.left(code, 0)
	})
	synctest.Test(t, func(t *testing.T) {
		p, code, _ := newAskingPerson(t, 1)
		p.types("ino\x1b")
		p.types("\x1b")
		p.sees("■ interrupted")
		p.types("\x03\x04")
		p.left(code, 0)
	})
}

// A text in the editor waits while an answer is typed, and letters are text there.
func TestDraftWaitsForAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, code, m := newAskingPerson(t, 1)
		p.types("\x1b[200~my draft\x1b[201~") // pasted: keys would answer
		p.sees("1 allow once", "Alt-y", "7 edit the command, then run it", "Alt-7")
		p.types("\x1bi")
		p.misses("> my draft")
		p.types("yes, sync it\r")
		p.sees("> my draft")
		if got := sent(m); !strings.Contains(got, "They said: yes, sync it") {
			t.Errorf("the model received %s", got)
		}
		p.types("\x03\x04")
		p.left(code, 0)
	})
}

// singleCalls is a judge that asks about each call, which can be allowed only once.
type singleCalls struct{}

func (singleCalls) Judge(settle.Approval) settle.Judgement {
	return settle.Judgement{
		Decision: event.Ask, Why: "it asks to run outside", Covers: "no other call: it can change", Once: true,
	}
}

func (singleCalls) Remember(settle.Approval) {}

// A call that can be allowed only once has no answer for the session.
func TestQuestionOfSingleCall(t *testing.T) {
	judge := func() (settle.Judge, error) { return singleCalls{}, nil }
	synctest.Test(t, func(t *testing.T) {
		p, code := newPersonOf(t, Options{}, settle.SessionConfig{
			Model: model.Config{
				Provider:     script.New(script.Turn(script.Call("shell", `{"command":"make"}`)), script.Text("done")),
				ProviderName: "script", Name: "m",
			},
			WorkDir: "/w", Judge: judge, Attended: true, Tools: []tool.Tool{echoShell{}},
		})
		p.types("go\r")
		p.sees("An approval covers no other call: it can change", "1 allow once", "3 deny", "7 edit the command")
		p.misses("for the session")
		for _, key := range []string{"s", "2"} {
			p.types(key)
			p.sees("this call can be allowed only once: y")
		}
		p.types("y")
		p.sees("allowed once: $ make", "✓ $ make")
		p.types("\x04")
		p.left(code, 0)
	})
}

// Plain mode neither offers nor accepts an answer that a question leaves out.
func TestPlainQuestionOfSingleCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		host, o := plainHost(
			t, &rich{}, script.Turn(script.Call("shell", `{"command":"make"}`)), script.Text("done"),
		)
		sessions := o.Sessions.(*rich)
		sessions.config.Judge = func() (settle.Judge, error) { return singleCalls{}, nil }
		sessions.config.Attended, sessions.config.Tools = true, []tool.Tool{echoShell{}}
		in := io.MultiReader(
			&typedLines{lines: "go\n"}, &typedLines{lines: "2\n"}, &typedLines{lines: "s\n"},
			&typedLines{lines: "y\n"}, &typedLines{},
		)
		code, err := RunPlain(t.Context(), in, &out, 80, o)
		if code != 0 || err != nil {
			t.Errorf("exit code %d, %v", code, err)
		}
		if err := host.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for _, want := range []string{
			"1 allow once (y). 3 deny (n)", "This call can be allowed only once.", "allowed once",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in:\n%s", want, out.String())
			}
		}
		if strings.Contains(out.String(), "for the session") {
			t.Errorf("it offers an approval for the session:\n%s", out.String())
		}
	})
}
