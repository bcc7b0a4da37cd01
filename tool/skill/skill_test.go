package skill_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/skill"
)

func TestSkill(t *testing.T) {
	set, err := tool.NewSet(skill.New(func(name, arguments string) (string, skill.Loaded, error) {
		if name != "x" {
			return "", skill.Loaded{}, errors.New("none")
		}
		return "do it with " + arguments, skill.Loaded{Name: name, Path: "/p", SHA256: "ab"}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	run := func(args string) (tool.Result, error) {
		return set.Run(t.Context(), tool.Call{Name: skill.Name, Args: json.RawMessage(args)})
	}
	got, err := run(`{"name":" /x","arguments":"a b"}`)
	if err != nil || got.Output != "do it with a b" ||
		string(got.Detail) != `{"skill":{"name":"x","path":"/p","sha256":"ab"}}` {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := run(`{"name":"y"}`); err == nil {
		t.Error("an unknown skill was loaded")
	}
	if _, err := run(`{}`); err == nil {
		t.Error("no name was taken")
	}
	if title := set.Title(skill.Name, json.RawMessage(`{"name":"x","arguments":"a"}`)); title != "skill x a" {
		t.Error(title)
	}
}
