package web

import "net/http"

// Plugin is a plugin of the user, as clients see it. Clients cannot change plugins.
type Plugin struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	State   string `json:"state" jsonschema:"ok, changed, disabled or unusable"`
	From    string `json:"from" jsonschema:"its source"`
	Has     string `json:"has" jsonschema:"what it brings: how many skills, commands, hooks and MCP servers"`
	Problem string `json:"problem,omitempty" jsonschema:"why no session uses it"`
}

// pluginList answers GET /api/plugins.
type pluginList struct {
	Plugins []Plugin `json:"plugins"`
}

func pluginRoutes() []route {
	return []route{{
		method: "GET", path: "/api/plugins", name: "listPlugins",
		summary: "List the user's plugins. Only the command settle plugins changes them.",
		status:  http.StatusOK, answer: pluginList{}, handle: (*Server).listPlugins,
	}}
}

func (s *Server) listPlugins(w http.ResponseWriter, _ *http.Request) error {
	out := pluginList{[]Plugin{}}
	if s.Plugins != nil {
		for _, p := range s.Plugins() {
			p.From, p.Problem = s.mask(p.From), s.mask(p.Problem)
			out.Plugins = append(out.Plugins, p)
		}
	}
	reply(w, http.StatusOK, out)
	return nil
}
