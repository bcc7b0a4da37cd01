package plugin

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func treeOf(t *testing.T, contents map[string]string) (tree Tree) {
	t.Helper()
	for name, text := range contents {
		if err := tree.Add(name, false, []byte(text), true); err != nil {
			t.Fatal(err)
		}
	}
	tree.sort()
	return tree
}

func TestManifestParts(t *testing.T) {
	m, err := Parse(treeOf(t, map[string]string{
		ManifestPath: `{"name": "demo", "version": "1", "description": "a\n b", "skills": ["./more", "./gone"],
			"commands": "./only.md", "hooks": ["./hooks/hooks.json", {"Stop": []}], "mcpServers": "./servers.json",
			"monitors": [], "channels": 1}`,
		"skills/a/SKILL.md": "", "more/SKILL.md": "", "only.md": "", "commands/left.md": "", "agents/x.md": "",
		"hooks/hooks.json": `{"hooks": {"PreToolUse": []}}`, "servers.json": `{"mcpServers": {"b": {"command": "b"}}}`,
		".mcp.json": `{"a": {"command": "a"}, "c": {"url": "${user_config.url}"}}`, "bin/tool": "",
	}), "other")
	if err != nil {
		t.Fatal(err)
	}
	var docs []string
	for _, d := range slices.Concat(m.Hooks, m.Servers) {
		docs = append(docs, d.Where+" "+string(d.JSON))
	}
	if diff := cmp.Diff([]string{
		`plugin.json {"Stop":[]}`, `hooks/hooks.json {"PreToolUse":[]}`, `.mcp.json {"a":{"command":"a"}}`,
		`servers.json {"b":{"command":"b"}}`,
	}, docs); diff != "" {
		t.Error(diff)
	}
	m.Hooks, m.Servers = nil, nil
	if diff := cmp.Diff(Manifest{
		Name: "demo", Version: "1", Description: "a b", Skills: []string{"skills", "more"},
		Commands: []string{"only.md"}, Agents: []string{"agents"},
		Ignored: []string{
			`skills: "./gone" in plugin.json, which does not exist`,
			`the MCP server "c", which needs values of userConfig`,
			`"channels" in plugin.json`, `"monitors" in plugin.json`, "bin",
		},
	}, m); diff != "" {
		t.Error(diff)
	}
	m, err = Parse(treeOf(t, map[string]string{"SKILL.md": ""}), "alone")
	if err != nil || !slices.Equal(m.Skills, []string{"."}) || m.Name != "alone" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestHostileManifests(t *testing.T) {
	for text, want := range map[string]string{
		`{"skills": "../x"}`:            "leads out",
		`{"skills": ["./a/../../x"]}`:   "leads out",
		`{"commands": "/etc"}`:          "no path",
		`{"hooks": "./../hooks.json"}`:  "leads out",
		`{"mcpServers": ["~/../../x"]}`: "leads out",
		`{"name": "a/../../b"}`:         "small letters",
		`{"name": "\u001b[2Ja"}`:        "small letters",
		`{"name": 3}`:                   "small letters",
		`{`:                             "not understood",
		`[]`:                            "not understood",
		`{"hooks": {"hooks": []}}`:      "no object",
		`{"x": "` + strings.Repeat("x", 1<<20) + `"}`: "the limit is",
	} {
		_, err := Parse(treeOf(t, map[string]string{ManifestPath: text}), "demo")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add(`{"name": "a", "skills": ["./b"], "hooks": {"Stop": []}}`, `{"hooks": {}}`, `{"a": {"command": "b"}}`)
	f.Fuzz(func(t *testing.T, manifest, hooks, servers string) {
		var tree Tree
		for name, text := range map[string]string{
			ManifestPath: manifest, "hooks/hooks.json": hooks, ".mcp.json": servers, "b/SKILL.md": "",
		} {
			if err := tree.Add(name, false, []byte(text), true); err != nil {
				return
			}
		}
		tree.sort()
		m, err := Parse(tree, "demo")
		if err != nil {
			return
		}
		for _, path := range slices.Concat(m.Skills, m.Commands, m.Agents) {
			if path != "." && CheckPath(path) != nil {
				t.Errorf("the path %q", path)
			}
		}
		if CheckName(m.Name) != nil {
			t.Errorf("the name %q", m.Name)
		}
	})
}
