package config_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/config/plugin"
)

// pluginServers are the servers of a plugin demo for sessions in /work, with a variable SECRET.
func pluginServers(t *testing.T, servers map[string]any) (map[string]config.Server, []string) {
	t.Helper()
	data, err := json.Marshal(servers)
	if err != nil {
		t.Fatal(err)
	}
	p := &plugin.Plugin{
		Record: plugin.Record{Name: "demo"}, Root: filepath.FromSlash("/root"), Data: filepath.FromSlash("/data"),
		Parts: plugin.Manifest{Servers: []plugin.Doc{{Where: ".mcp.json", JSON: data}}},
	}
	list, notes := config.PluginServers(p, filepath.FromSlash("/work"), func(name string) string {
		return map[string]string{"SECRET": "0123456789", "PWD": filepath.FromSlash("/work")}[name]
	})
	byName := map[string]config.Server{}
	for _, s := range list {
		byName[strings.TrimPrefix(s.Name, "plugin_demo_")] = s
	}
	return byName, notes
}

// The client ID reaches a server that the plugin names.
func TestPluginClientIDIsNotExpanded(t *testing.T) {
	servers, notes := pluginServers(t, map[string]any{
		"x": map[string]any{"url": "https://host", "oauth": map[string]any{"clientId": "${SECRET}${OTHER}"}},
	})
	want := &config.OAuth{ClientID: "${SECRET}${OTHER}"}
	if diff := cmp.Diff(want, servers["x"].OAuth); diff != "" || len(notes) > 0 {
		t.Errorf("%s\n%q", diff, notes)
	}
	if s := servers["x"]; len(s.Missing()) > 0 {
		t.Errorf("%q are missing", s.Missing())
	}
}

// A program can run files of its working directory, which a project must not choose.
func TestPluginServersStartInTheirOwnFolders(t *testing.T) {
	dirs := map[string]string{
		"own": "", "sub": "a/b", "root": "${CLAUDE_PLUGIN_ROOT}", "data": "${CLAUDE_PLUGIN_DATA}/x", "dot": ".",
		"session": "${SESSION_DIR}", "project": "${CLAUDE_PROJECT_DIR}", "pwd": "${PWD}/sub", "default": "${NO:-/work}",
		"absolute": "/work/sub", "up": "../work", "elsewhere": "/opt", "beside": "/root2",
	}
	all := map[string]any{}
	for name, dir := range dirs {
		all[name] = map[string]any{"command": "x", "cwd": dir}
	}
	servers, notes := pluginServers(t, all)
	used := map[string]string{}
	for name := range servers {
		used[name] = filepath.ToSlash(servers[name].Dir)
	}
	want := map[string]string{"own": "", "sub": "/root/a/b", "root": "/root", "data": "/data/x", "dot": "/root"}
	if diff := cmp.Diff(want, used); diff != "" || len(notes) != len(dirs)-len(want) {
		t.Errorf("%s\n%s", diff, strings.Join(notes, "\n"))
	}
}
