package assemble

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/web"
)

const (
	// searchTimeout bounds a command that searches the web.
	searchTimeout = time.Minute
	// maxFound bounds its output in bytes.
	maxFound = 256 << 10
)

// searcher returns the configured command that searches the web; nil for none.
func (o Options) searcher() []string {
	if o.Settings.Web.Search != config.SearchCommand {
		return nil
	}
	return o.Settings.Web.SearchCommand
}

// search returns the tool that searches the web.
func (b *toolFactory) search(info settle.SessionInfo) tool.Tool {
	if b.web.searcher == nil {
		return web.NewSearch(nil)
	}
	return web.NewSearch(func(ctx context.Context, query string) (tool.Found, error) {
		request, err := json.Marshal(map[string]string{"query": query})
		if err != nil {
			return tool.Found{}, err
		}
		bounded, cancel := context.WithTimeoutCause(ctx, searchTimeout,
			fmt.Errorf("%q took longer than %s", b.web.searcher[0], terminal.Duration(searchTimeout)))
		defer cancel()
		// The command belongs to the user: it does not run in a project, whose files it
		// could obey.
		out, err := proc.Run(bounded, proc.Command{
			Argv: b.web.searcher, Dir: Nowhere(), Env: b.env, Stdin: append(request, '\n'), MaxBytes: maxFound,
			Marker: info.Marker, Lock: info.Lock,
		})
		switch {
		case err != nil && bounded.Err() != nil:
			return tool.Found{}, context.Cause(bounded)
		case err != nil:
			return tool.Found{}, err
		case out.Truncated:
			return tool.Found{}, fmt.Errorf("%q put out more than %d bytes", b.web.searcher[0], maxFound)
		case !out.OK():
			return tool.Found{}, fmt.Errorf("%q ended with code %d: %s", b.web.searcher[0], out.Code,
				terminal.Short(firstLine(out.Stderr), 500))
		}
		return web.ReadFound(out.Stdout), nil
	})
}
