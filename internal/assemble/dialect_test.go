package assemble

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model/chat"
)

func TestDialects(t *testing.T) {
	if diff := cmp.Diff(chat.Dialects(), config.Dialects()); diff != "" {
		t.Errorf("the configuration knows other dialects than the wire (-wire +configuration):\n%s", diff)
	}
}
