package tui

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/ask"
)

const questionsAsked = `{"questions":[
	{"question":"Which database?","header":"Database","options":[
		{"label":"SQLite"},{"label":"Postgres (Recommended)","description":"a server"}]},
	{"question":"Which features?","multiSelect":true,"options":[{"label":"search"},{"label":"login"}]},
	{"question":"Which name?","default":"app"}]}`

// The model's questions are answered one after the other: with arrows, numbers and text. Esc
// declines.
func TestModelQuestions(t *testing.T) {
	for name, tc := range map[string]struct{ keys, database, features, name string }{
		"defaults": {"\r y \r", `"Postgres (Recommended)"`, "no answer", `"app"`},
		"numbers":  {"1 1 2 y 2 026\r", `"SQLite"`, `"search, login"`, `"2026"`},
		"arrows":   {"\x1b[B \r MySQL\r \r \x1b[B \r \r y index.go\r", `"MySQL"`, `"search"`, `"index.go"`},
		"words":    {"i a_file\r 2 i and_more\r yes\r", `"a file"`, `"login, and more"`, `"yes"`},
		"back":     {"1 \x1b[D 2 1 2 y \x1b[D 1 y x\r", `"Postgres (Recommended)"`, `"login"`, `"x"`},
		"menu":     {"1 5 2 y \r", `"Postgres (Recommended)"`, "no answer", `"app"`},
		"declines": {"1 \x1b", "", "", ""},
		"last":     {"1 y \x1b", "", "", ""},
	} {
		sends := fmt.Sprintf("\"Which database?\" = %s\n\"Which features?\" = %s\n\"Which name?\" = %s",
			tc.database, tc.features, tc.name)
		if tc.name == "" {
			sends = "The user did not answer"
		}
		synctest.Test(t, func(t *testing.T) {
			m := script.New()
			m.Add(script.Turn(script.Call(ask.Name, questionsAsked)))
			m.Add(script.Text("done"))
			p, code := newPersonOf(t, Options{}, settle.SessionConfig{
				Model:   model.Config{Provider: m, ProviderName: "script", Name: "m"},
				WorkDir: "/w", Permission: settle.Ask, Attended: true, Tools: []tool.Tool{ask.New()},
			})
			p.types("go\r")
			p.sees("1/3 Which database?", "  1 SQLite", "› 2 Postgres (Recommended): a server",
				"3 answer in your own words", "4 decline to answer", "Esc")
			for key := range strings.SplitSeq(tc.keys, " ") {
				p.types(strings.ReplaceAll(key, "_", " "))
			}
			p.sees("asked: questions: Database, Which features?, Which name?", "done")
			if got := sent(m); !strings.Contains(got, sends) {
				t.Errorf("%s: the model received %s", name, got)
			}
			p.types("\x04")
			p.left(code, 0)
		})
	}
}
