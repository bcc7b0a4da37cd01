package acp

import (
	"strings"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/tool/mcp"
)

// servers are the MCP servers that the client brings along, with the values that
// must not be shown, by their names.
func (in setup) servers() (list []mcp.Server, secrets []string, err error) {
	for _, m := range in.MCPServers {
		s := mcp.Server{Name: m.Name}
		switch {
		case m.Name == "":
			return nil, nil, invalid("an MCP server has no name")
		case m.Type == "http" && m.URL != "":
			s.URL, s.Headers = m.URL, map[string]string{}
			for _, h := range m.Headers {
				s.Headers[h.Name] = h.Value
			}
			secrets = append(secrets, secretsOf(m.Headers)...)
		case (m.Type == "" || m.Type == "stdio") && m.Command != "":
			s.Argv = append([]string{m.Command}, m.Args...)
			for _, v := range m.Env {
				s.Env = append(s.Env, v.Name+"="+v.Value)
			}
			secrets = append(secrets, secretsOf(m.Env)...)
		default:
			return nil, nil, invalid("the MCP server %q is neither a command nor one of type http", m.Name)
		}
		list = append(list, s)
	}
	return list, secrets, nil
}

// secretsOf are the values whose names say that they are credentials.
func secretsOf(pairs []namedText) (secrets []string) {
	for _, p := range pairs {
		if config.Credential(p.Name) {
			secrets = append(secrets, p.Value, strings.TrimPrefix(p.Value, "Bearer "))
		}
	}
	return secrets
}
