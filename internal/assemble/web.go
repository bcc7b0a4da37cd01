package assemble

import (
	"cmp"

	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/web"
)

// fetch is the tool that reads pages of the web.
func (b *bench) fetch() tool.Tool {
	c := web.Config{Version: cmp.Or(b.version, "unknown")}
	if allowed, err := egress.ParsePrivate(b.nearby); err == nil { // as it was when the configuration was read
		c.Permit = allowed.Permits
	}
	return web.NewFetch(c)
}
