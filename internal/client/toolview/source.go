package toolview

import (
	"encoding/json"

	"github.com/settle-agent/settle/tool"
)

// Source is a page that a search of the web found.
type Source = tool.Source

// Sources are the pages that a search of the web found, by the details of its
// result.
func (c Call) Sources(detail json.RawMessage) []Source {
	if c.Kind != Web {
		return nil
	}
	return decode[struct {
		Sources []Source `json:"sources"`
	}](string(detail)).Sources
}
