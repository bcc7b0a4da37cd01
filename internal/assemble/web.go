package assemble

import (
	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/web"
)

// fetch returns the tool that reads web pages.
func (w webTools) fetch() tool.Tool {
	c := web.Config{Version: w.version}
	if allowed, err := egress.ParsePrivate(w.private); err == nil { // validated with the configuration
		c.Permit = allowed.Permits
	}
	return web.NewFetch(c)
}
