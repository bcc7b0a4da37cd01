package codex_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/frontend/compat/codex"
)

// known is a settle with its built-in providers, and one of the user's own.
func known(model string, env map[string]string) codex.Known {
	providers := map[string]string{"openai": "gpt-default", "anthropic": "claude-default", "chat": "", "mine": "own"}
	return codex.Known{
		Model:    model,
		Provider: func(name string) (string, bool) { m, ok := providers[name]; return m, ok },
		Getenv:   func(name string) string { return env[name] },
	}
}

func TestUnderstand(t *testing.T) {
	key := map[string]string{"CODEX_API_KEY": "ck", "OPENAI_API_KEY": "ok", "OTHER_KEY": "other"}
	settings := func(pairs ...string) map[string]string {
		all := map[string]string{}
		for n := 0; n < len(pairs); n += 2 {
			all[pairs[n]] = pairs[n+1]
		}
		return all
	}
	hidden := []string{"CODEX_API_KEY"}
	for _, tt := range []struct {
		name  string
		flags codex.Flags
		model string // settle's own
		env   map[string]string
		want  codex.Spec
	}{
		{"nothing", codex.Flags{}, "", nil, codex.Spec{Settings: settings(), Env: settings()}},
		{"a name alone is of openai", codex.Flags{Model: "gpt-5"}, "", nil, codex.Spec{Settings: settings("model", "openai/gpt-5"), Env: settings()}},
		{"or of whom it says", codex.Flags{Model: "claude-x"}, "", nil, codex.Spec{Settings: settings("model", "anthropic/claude-x"), Env: settings()}},
		{"or of the only one that could be meant", codex.Flags{Model: "qwen"}, "chat/other", nil, codex.Spec{Settings: settings("model", "chat/qwen"), Env: settings()}},
		{"but not where openai has a key", codex.Flags{Model: "gpt-5"}, "chat/other", key, codex.Spec{Settings: settings("model", "openai/gpt-5"), Env: settings("OPENAI_API_KEY", "ck")}},
		{"settle's own way to name it", codex.Flags{Model: "mine/a/b"}, "", nil, codex.Spec{Settings: settings("model", "mine/a/b"), Env: settings()}},
		{"a key and no model", codex.Flags{}, "", key, codex.Spec{Settings: settings("model", "openai/gpt-default"), Env: settings("OPENAI_API_KEY", "ck")}},
		{"a key, and a model of settle's", codex.Flags{}, "mine/x", key, codex.Spec{Settings: settings(), Env: settings("OPENAI_API_KEY", "ck")}},
		{"an address and no model", codex.Flags{Config: []string{`openai_base_url="http://h/v1"`}}, "mine/x", nil, codex.Spec{Settings: settings("model", "openai/gpt-default"), Env: settings("OPENAI_BASE_URL", "http://h/v1")}},
		{"an address, and a model that is configured for it", codex.Flags{Config: []string{`openai_base_url="http://h/v1"`}}, "openai/x", nil, codex.Spec{Settings: settings(), Env: settings("OPENAI_BASE_URL", "http://h/v1")}},
		{"a provider of settle's", codex.Flags{Config: []string{`model_provider=mine`, `model="o3"`}}, "", nil, codex.Spec{Settings: settings("model", "mine/o3"), Env: settings()}},
		{"effort", codex.Flags{Config: []string{`model_reasoning_effort="xhigh"`}}, "", nil, codex.Spec{Settings: settings("effort", "xhigh"), Env: settings()}},
		{"more effort than there is", codex.Flags{Config: []string{`model_reasoning_effort="ultra"`}}, "", nil, codex.Spec{Settings: settings("effort", "max"), Env: settings()}},
		{"a server of one's own", codex.Flags{OSS: true}, "", nil, codex.Spec{Settings: settings("model", "chat/gpt-oss:20b", "base_url", "http://localhost:11434/v1"), Env: settings()}},
		{
			"a provider of the client's",
			codex.Flags{Model: "q/w", Config: []string{`model_provider="or"`, `model_providers.or={name="O R",base_url="https://or.example/v1",env_key="OTHER_KEY",wire_api="chat",stream_max_retries=7,request_max_retries=2,stream_idle_timeout_ms=1500,http_headers={a="b"}}`}},
			"", key,
			codex.Spec{
				Settings: settings("model", "chat/q/w", "base_url", "https://or.example/v1", "retries", "7", "stall_timeout", "1.5s"),
				Env:      settings("OPENAI_API_KEY", "ck", "SETTLE_API_KEY", "other"), Hidden: []string{"CODEX_API_KEY", "OTHER_KEY"},
				Ignored: []string{"-c model_providers.or"},
			},
		},
		{
			"that gets no key of OpenAI's",
			codex.Flags{Model: "m", Config: []string{`model_provider="p"`, `model_providers.p.base_url="http://localhost:1/v1"`}},
			"", key,
			codex.Spec{Settings: settings("model", "openai/m", "base_url", "http://localhost:1/v1"), Env: settings("OPENAI_API_KEY", "")},
		},
		{
			"unless it is to",
			codex.Flags{Model: "m", Config: []string{`model_provider="p"`, `model_providers.p={base_url="http://localhost:1/v1",requires_openai_auth=true}`}},
			"", key,
			codex.Spec{Settings: settings("model", "openai/m", "base_url", "http://localhost:1/v1"), Env: settings("OPENAI_API_KEY", "ck")},
		},
		{
			"modes",
			codex.Flags{Sandbox: "read-only", FullAuto: true, AddDirs: []string{"a"}, Config: []string{`sandbox_mode="danger-full-access"`, `approval_policy="untrusted"`, `sandbox_workspace_write.writable_roots=["/b"]`, `sandbox_workspace_write.network_access=true`}},
			"", nil,
			codex.Spec{Settings: settings(), Env: settings(), Sandbox: codex.ReadOnly, Approval: "untrusted", Writable: []string{"a", "/b"}, Network: true},
		},
		{"automatic", codex.Flags{FullAuto: true, Config: []string{`sandbox_mode="read-only"`}}, "", nil, codex.Spec{Settings: settings(), Env: settings(), Sandbox: codex.WorkspaceWrite}},
		{"no sandbox", codex.Flags{Bypass: true, Sandbox: "danger-full-access"}, "", nil, codex.Spec{Settings: settings(), Env: settings(), Sandbox: codex.FullAccess, Approval: "never"}},
		{
			"settle's own settings",
			codex.Flags{Config: []string{`settle.retries=1`, `settle.stall_timeout="2s"`, `settle.tools=["read","list"]`}},
			"", nil,
			codex.Spec{Settings: settings("retries", "1", "stall_timeout", "2s", "tools", "read,list"), Env: settings()},
		},
		{"instructions", codex.Flags{Config: []string{`developer_instructions="be brief"`, `model_instructions_file=/f`}}, "", nil, codex.Spec{Settings: settings(), Env: settings(), Instructions: "be brief", SystemFile: "/f"}},
		{
			"what means nothing",
			codex.Flags{Config: []string{`features.web=true`, `mcp_servers."a.b".command="x"`, `web_search="cached"`, `sandbox_workspace_write.network_access=false`, `model_verbosity=high`, `settle=1`}},
			"", nil,
			codex.Spec{Settings: settings(), Env: settings(), Ignored: []string{"-c features.web", "-c mcp_servers.a.b", "-c model_verbosity", "-c settle", "-c web_search"}},
		},
		{"a search", codex.Flags{Config: []string{`web_search="live"`}}, "", nil, codex.Spec{Settings: settings("web.search", "provider"), Env: settings()}},
		{"what makes no difference", codex.Flags{Config: []string{`web_search="disabled"`, `hide_agent_reasoning=true`, `sandbox_workspace_write={network_access=true}`}}, "", nil, codex.Spec{Settings: settings(), Env: settings(), Network: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want.Hidden == nil {
				tt.want.Hidden = hidden
			}
			got, err := codex.Understand(tt.flags, known(tt.model, tt.env))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMisunderstood(t *testing.T) {
	for want, f := range map[string]codex.Flags{
		"not key=value":                {Config: []string{"features"}},
		`no provider "x"`:              {Config: []string{`model_provider="x"`}},
		"base_url is missing":          {Model: "m", Config: []string{`model_provider="x"`, `model_providers.x.name="X"`}},
		"without --model":              {Config: []string{`model_provider="x"`, `model_providers.x.base_url="http://h"`}},
		`its wire_api is "grpc"`:       {Model: "m", Config: []string{`model_provider="x"`, `model_providers.x={base_url="http://h",wire_api="grpc"}`}},
		"set NO_KEY":                   {Model: "m", Config: []string{`model_provider="x"`, `model_providers.x={base_url="http://h",env_key="NO_KEY"}`}},
		`no sandbox mode "off"`:        {Sandbox: "off"},
		`no approval policy "perhaps"`: {Config: []string{"approval_policy=perhaps"}},
	} {
		if _, err := codex.Understand(f, known("", nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
