package assemble

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/tool/ask"
	"github.com/settle-agent/settle/tool/lsp"
	"github.com/settle-agent/settle/tool/plan"
	"github.com/settle-agent/settle/tool/skill"
	"github.com/settle-agent/settle/tool/task"
	"github.com/settle-agent/settle/tool/web"
)

// toolSelection is the set of tools that the model receives, in this order.
type toolSelection struct {
	names  []string
	skills *skillSet // nil if there are no skills, or if the tool that loads them is off
}

// selectTools selects tools by the settings, the frontend and the available skills.
func (o Options) selectTools() (toolSelection, error) {
	names, err := offered(o.Settings.Tools, o.Settings.Web)
	if err != nil {
		return toolSelection{}, err
	}
	known := o.skillSet()
	if len(known.found.Skills) == 0 || o.Offers != nil && !o.Offers(skill.Name) || !slices.Contains(names, skill.Name) {
		known = nil
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return o.Offers != nil && !o.Offers(name) || name == skill.Name && known == nil
	})
	return toolSelection{names, known}, nil
}

// toolNames are all built-in tools, in the order in which models receive them.
func toolNames() []string {
	return []string{
		"shell", "job", "read", "write", "edit", "apply_patch", "glob", "grep", "list", lsp.Name, plan.Name, ask.Name,
		task.Name, skill.Name, web.FetchName, web.SearchName,
	}
}

// offered returns the names of a session's tools: the tools that the user chose, otherwise
// all; package tool/family decides which of them suit a model. web_search is offered only
// if the user configured a search service.
func offered(chosen []string, search config.Web) ([]string, error) {
	searches := search.Search == config.SearchProvider || search.Search == config.SearchCommand
	if search.Search == config.SearchCommand && len(search.SearchCommand) == 0 {
		return nil, &config.Error{Where: "web.search", Message: "name the command that searches in web.search_command"}
	}
	if chosen == nil {
		return slices.DeleteFunc(toolNames(), func(name string) bool { return name == web.SearchName && !searches }),
			nil
	}
	if !searches && slices.Contains(chosen, web.SearchName) {
		return nil, &config.Error{
			Where:   "tools",
			Message: web.SearchName + " is off: set web.search to provider or command",
		}
	}
	chosen = slices.DeleteFunc(slices.Clone(chosen), func(name string) bool { return name == serverTools })
	for _, name := range chosen {
		if !slices.Contains(toolNames(), name) {
			return nil, &config.Error{
				Where: "tools",
				Message: fmt.Sprintf("there is no tool %q; the tools are %s and %s", name,
					strings.Join(toolNames(), ", "), serverTools),
			}
		}
	}
	return chosen, nil
}
