package family

import "github.com/settle-agent/settle/internal/bound"

// schemas are the schemas of the families' tools. The turns of all sessions have the same, and each took
// kilobytes.
var schemas bound.Shared[[2]string, []byte]

// shared returns the result of build for a schema in a form. Equal schemas share it, except for texts that
// are too long to keep. The text must not be changed.
func shared(form string, text []byte, build func() []byte) []byte {
	if len(text) > bound.MaxSharedText {
		return build()
	}
	return schemas.Of([2]string{form, string(text)}, build)
}
