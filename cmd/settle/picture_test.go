//go:build pictures

package main

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/settle-agent/settle/modeltest"
)

// scene is a state of the terminal that a picture is made of.
type scene struct {
	name   string
	args   []string
	turns  []modeltest.Turn
	prompt string
	// keys are typed one after the other, each after its text is on the screen.
	keys  [][2]string
	until string
}

const (
	fence  = "```"
	answer = `# How inputs wait

An input that comes **while a turn runs** is queued. There are *three* groups:

1. joins the next request (` + "`Tab`" + `)
2. waits for the end (` + "`Enter`" + `)
3. held, after an interrupt

` + fence + `go
// Submit queues an input.
func (s *Session) Submit(text string) (*Turn, error) {
	if s.closed {
		return nil, fmt.Errorf("closed after %d inputs", 3)
	}
	return s.queue(text), nil
}
` + fence + `

| Key | Group | Survives Esc |
|---|---|---|
| Tab | joins | yes |
| Enter | waits | yes |

> Nothing that was accepted is lost.
`
	edit  = `{"path":"queue.go","old_string":"\treturn s.queue(text), nil","new_string":"\tt := s.queue(text)\n\ts.wake()\n\treturn t, nil"}`
	steps = `{"plan":[{"step":"Find where the queue sleeps","status":"completed"},` +
		`{"step":"Wake it after each input","status":"in_progress"},{"step":"Run the tests","status":"pending"}]}`
	test   = `{"command":"echo '=== RUN TestQueue'; sleep 603"}`
	source = "package session\n\nfunc (s *Session) Submit(text string) (*Turn, error) {\n\tif s.closed {\n\t\treturn nil, errClosed\n\t}\n\treturn s.queue(text), nil\n}\n"
)

func scenes() []scene {
	look := modeltest.Reply(
		modeltest.Think("The wake-up is missing after the queue."),
		modeltest.Text("The queue is never woken. I mend that."),
		modeltest.Call("edit", edit),
	)
	return []scene{
		{name: "welcome", until: "for shortcuts"},
		{name: "commands", keys: [][2]string{{"for shortcuts", "/"}}, until: " more"},
		{
			name: "plan", prompt: "Mend the queue", args: []string{"--permission", "allow"}, until: "RUN TestQueue",
			turns: []modeltest.Turn{modeltest.Reply(modeltest.Call("plan", steps), modeltest.Call("shell", test))},
		},
		{
			name:   "answer",
			prompt: "How do inputs wait?",
			turns: []modeltest.Turn{
				modeltest.Reply(modeltest.Think("The user asks about the queue."), modeltest.Text(answer)),
			},
			until: "✓ ",
		},
		{name: "question", prompt: "Mend the queue", turns: []modeltest.Turn{look}, until: "1 allow once"},
		{
			name: "running", prompt: "Test it", args: []string{"--permission", "allow"}, until: "joins the next request",
			turns: []modeltest.Turn{modeltest.Reply(
				modeltest.Text("I run the tests and look at the server meanwhile."),
				modeltest.Call(
					"shell",
					`{"command":"echo '=== RUN TestQueue'; echo '--- PASS: TestQueue (0.02s)'; echo '=== RUN TestHeld'; sleep 600"}`,
				),
				modeltest.Call("shell", `{"command":"sleep 601"}`),
			)},
			keys: [][2]string{
				{"TestHeld", "then the documentation"},
				{"then the doc", "Enter"},
				{"waits for the end", "only the short ones"},
				{"short ones", "Tab"},
			},
		},
		{
			name: "changed", prompt: "Mend the queue", args: []string{"--permission", "allow"}, until: "requests",
			turns: []modeltest.Turn{
				look,
				modeltest.Reply(
					modeltest.Call("shell", `{"command":"printf '%s\\n' 'ok  session' 'FAIL turn: TestLate'; exit 1"}`),
				),
				modeltest.Say("The queue is mended; one test of `turn` fails, as before."),
			},
		},
		{
			name: "retry", prompt: "Go on", until: "next in",
			turns: []modeltest.Turn{modeltest.Say("Done.").With(modeltest.Status(529, "600").First(1))},
		},
		{
			name: "interrupted", prompt: "Test it", args: []string{"--permission", "allow"}, until: "interrupted after",
			turns: []modeltest.Turn{
				modeltest.Reply(
					modeltest.Text("I run the tests."),
					modeltest.Call("shell", `{"command":"echo '=== RUN TestQueue'; sleep 602"}`),
				),
			},
			keys: [][2]string{{"│ === RUN", "Escape"}}, // the output, not the command
		},
	}
}

// TestPictures makes pictures of the main states, for docs/terminal.md: make pictures.
func TestPictures(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 20}} {
		for _, s := range scenes() {
			t.Run(fmt.Sprintf("%s-%dx%d", s.name, size[0], size[1]), func(t *testing.T) {
				rows := s.shoot(t, size[0], size[1])
				name := fmt.Sprintf("../../docs/pictures/%s-%dx%d.svg", s.name, size[0], size[1])
				if err := os.WriteFile(name, []byte(drawSVG(rows, size[0], size[1])), 0o644); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// shoot returns the rows of the screen in the scene, as tmux has them.
func (s scene) shoot(t *testing.T, width, height int) []string {
	t.Helper()
	p := newPlace(t)
	if err := os.WriteFile(filepath.Join(p.work, "queue.go"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	server := modeltest.NewServer(t, modeltest.Script(s.turns...))
	binary, err := exec.LookPath("settle")
	if err != nil {
		t.Fatal(err)
	}
	tmux := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("tmux", append([]string{"-S", filepath.Join(p.data, "tmux")}, args...)...).
			CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	if err := os.MkdirAll(p.data, 0o700); err != nil {
		t.Fatal(err)
	}
	start := []string{
		"-f",
		"/dev/null",
		"new-session",
		"-d",
		"-x",
		strconv.Itoa(width),
		"-y",
		strconv.Itoa(height),
		"-c",
		p.work,
		"-e",
		"HOME=" + filepath.Dir(p.work),
		"-e",
		"SETTLE_DATA_DIR=" + p.data,
	}
	start = append(start, binary, "-m", "chat/qwen3-coder", "--base-url", server.OpenAI())
	start = append(start, s.args...)
	if s.prompt != "" {
		start = append(start, s.prompt)
	}
	tmux(start...)
	defer tmux("kill-server")
	tmux("set-option", "-g", "status", "off")
	shows := func(text string) {
		t.Helper()
		late := time.Now().Add(patience / 2)
		for !strings.Contains(tmux("capture-pane", "-p", "-S", "-"), text) {
			if <-time.After(20 * time.Millisecond); time.Now().After(late) {
				t.Fatalf("%q does not come:\n%s", text, tmux("capture-pane", "-p", "-S", "-"))
			}
		}
	}
	for _, k := range s.keys {
		shows(k[0])
		tmux("send-keys", k[1])
	}
	shows(s.until)
	<-time.After(300 * time.Millisecond) // the last frame
	return strings.Split(tmux("capture-pane", "-e", "-p"), "\n")
}

const (
	cellWidth, cellHeight = 8.4, 18.0
	style                 = `text{font:14px ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;fill:#1f2328}.bg{fill:#fff}.f{opacity:.62}.b{font-weight:bold}.i{font-style:italic}.u{text-decoration:underline}` +
		`.c31{fill:#cf222e}.c32{fill:#116329}.c33{fill:#7d4e00}.c34{fill:#0550ae}.c35{fill:#8250df}.c36{fill:#1b7c83}.r{fill:#1f2328}.rt{fill:#fff}` +
		`@media (prefers-color-scheme:dark){text{fill:#e6edf3}.bg{fill:#0d1117}.c31{fill:#ff7b72}.c32{fill:#7ee787}.c33{fill:#e3b341}.c34{fill:#79c0ff}.c35{fill:#d2a8ff}.c36{fill:#76e3ea}.r{fill:#e6edf3}.rt{fill:#0d1117}}`
)

var sgr = regexp.MustCompile(`\x1b\[([0-9;]*)m`) // it is made once

// drawSVG draws rows that are styled as tmux says it, without the blank ones at the end.
func drawSVG(rows []string, width, height int) string {
	var b strings.Builder
	rows = rows[:min(len(rows), height)]
	for len(rows) > 0 && strings.TrimSpace(ansi.Strip(rows[len(rows)-1])) == "" {
		rows = rows[:len(rows)-1]
	}
	height = len(rows)
	w, h := float64(width)*cellWidth+16, float64(height)*cellHeight+16
	fmt.Fprintf(
		&b,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f"><style>%s</style><rect class="bg" width="100%%" height="100%%" rx="6"/>`+"\n",
		w, h, w, h, style,
	)
	classes := map[string]bool{}
	for y, row := range rows {
		x, at := 0, 0
		put := func(text string) {
			if columns := ansi.StringWidth(text); strings.TrimSpace(text) != "" || classes["r"] {
				drawText(&b, classes, text, 8+float64(x)*cellWidth, 8+float64(y)*cellHeight, float64(columns)*cellWidth)
				x += columns
			} else {
				x += columns
			}
		}
		for _, m := range sgr.FindAllStringSubmatchIndex(row, -1) {
			put(row[at:m[0]])
			restyle(classes, row[m[2]:m[3]])
			at = m[1]
		}
		put(row[at:])
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func drawText(b *strings.Builder, classes map[string]bool, text string, x, y, width float64) {
	var names []string
	for _, name := range []string{"b", "f", "i", "u", "c31", "c32", "c33", "c34", "c35", "c36"} {
		if classes[name] {
			names = append(names, name)
		}
	}
	if classes["r"] {
		fmt.Fprintf(
			b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.0f"/>`,
			strings.Join(append([]string{"r"}, names...), " "), x, y, width, cellHeight,
		)
		names = []string{"rt"}
	}
	fmt.Fprintf(
		b,
		`<text class="%s" x="%.1f" y="%.1f" textLength="%.1f" xml:space="preserve">%s</text>`+"\n",
		strings.Join(names, " "),
		x,
		y+13.5,
		width,
		html.EscapeString(text),
	)
}

func restyle(classes map[string]bool, codes string) {
	for code := range strings.SplitSeq(codes, ";") {
		switch code {
		case "", "0":
			clear(classes)
		case "39":
			for n := 31; n < 37; n++ {
				delete(classes, fmt.Sprint("c", n))
			}
		default:
			if name, ok := map[string]string{"1": "b", "2": "f", "3": "i", "4": "u", "7": "r"}[code]; ok {
				classes[name] = true
			} else {
				classes["c"+code] = true
			}
		}
	}
}
