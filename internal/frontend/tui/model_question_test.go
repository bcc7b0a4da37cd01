package tui

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal"
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
		"defaults":    {"\r y \r", `"Postgres (Recommended)"`, "no answer", `"app"`},
		"numbers":     {"1 1 2 y 2 026\r", `"SQLite"`, `"search, login"`, `"2026"`},
		"arrows":      {"\x1b[B \r MySQL\r \r \x1b[B \r \r y index.go\r", `"MySQL"`, `"search"`, `"index.go"`},
		"words":       {"i a_file\r 2 i and_more\r yes\r", `"a file"`, `"login, and more"`, `"yes"`},
		"typed":       {"use_mysql\r 1 with_more\r z\r", `"use mysql"`, `"search, with more"`, `"z"`},
		"back":        {"1 \x1b[D 2 1 2 y \x1b[D 1 y x\r", `"Postgres (Recommended)"`, `"login"`, `"x"`},
		"menu":        {"1 5 2 y \r", `"Postgres (Recommended)"`, "no answer", `"app"`},
		"declines":    {"1 \x1b \x1b", "", "", ""},
		"last":        {"1 y \x1b \x1b", "", "", ""},
		"nothing":     {"\x1b", "", "", ""},
		"text":        {"1 y half \x1b x \x1b _whole\r", `"SQLite"`, "no answer", `"halfx whole"`},
		"kept":        {"i My \x1b i SQL\r 2 y \r", `"MySQL"`, `"login"`, `"app"`},
		"before":      {"1 1 2 \x1b[D \r \r \r", `"SQLite"`, `"search, login"`, `"app"`},
		"text before": {"1 1 y \x1b[D \r \r", `"SQLite"`, `"search"`, `"app"`},
		"own":         {"i MySQL\r i more\r \x1b[D y \x1b[D \x1b[D i \r y \r", `"MySQL"`, `"more"`, `"app"`},
		"again":       {"1 y \r", `"SQLite"`, "no answer", `"app"`},
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
			seen := "│ declined"
			if tc.name != "" {
				seen = "│ Database → " + strings.Trim(tc.database, `"`)
				p.sees("│ Which features? → " + strings.Trim(tc.features, `"`))
				p.sees("│ Which name? → " + strings.Trim(tc.name, `"`))
			}
			p.sees(seen)
			if got := sent(m); !strings.Contains(got, sends) {
				t.Errorf("%s: the model received %s", name, got)
			}
			p.types("\x04")
			p.left(code, 0)
		})
	}
}

// The answers to the model's questions have a row each, which is wrapped and not cut off.
func TestAnswersAreWhole(t *testing.T) {
	long := strings.Repeat("a long answer ", 8) + "with its end"
	for name, tc := range map[string]struct {
		questions, detail string
		want              []string
	}{
		"one": {
			`[{"question":"Which database?"}]`, `{"ending":"answered","answers":[["SQLite"]]}`,
			[]string{"  │ → SQLite"},
		},
		"several": {
			`[{"question":"Which database?","header":"DB"},{"question":"Which name?"}]`,
			`{"ending":"answered","answers":[["SQLite","Postgres"],[]]}`,
			[]string{"  │ DB → SQLite, Postgres", "  │ Which name? → no answer"},
		},
		"long": {
			`[{"question":"Why?","header":"Why"}]`, `{"ending":"answered","answers":[["` + long + `"]]}`,
			[]string{"  │ Why → a long answer a long answer a", "with its end"},
		},
		"unattended": {
			`[{"question":"Which name?","default":"app"}]`, `{"ending":"unattended"}`,
			[]string{"  │ no person could be asked", "  │ → app (assumed)"},
		},
		"of another settle": {`[{"question":"Which name?"}]`, `7`, []string{"  │ what the model received"}},
	} {
		rows := answeredRows(event.Content{
			Type: event.ToolCall, Name: ask.Name, Arguments: `{"questions":` + tc.questions + `}`,
			Detail: []byte(tc.detail), Output: "what the model received",
		}, "Ctrl-T")
		var text []string
		for _, row := range rows(40) {
			if text = append(text, row.Text()); terminal.TextWidth(row.Text()) > 40 {
				t.Errorf("%s: %q is too wide", name, row.Text())
			}
		}
		for _, want := range tc.want {
			if !strings.Contains(strings.Join(text, "\n"), want) {
				t.Errorf("%s: %q is not in\n%s", name, want, strings.Join(text, "\n"))
			}
		}
	}
}
