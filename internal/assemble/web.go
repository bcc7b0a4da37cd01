package assemble

import (
	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/web"
)

// fetch is the tool that reads pages of the web.
func (w webTools) fetch() tool.Tool {
	c := web.Config{Version: w.version}
	if allowed, err := egress.ParsePrivate(w.private); err == nil { // as it was when the configuration was read
		c.Permit = allowed.Permits
	}
	return web.NewFetch(c)
}
