// Package replay holds settle against what real servers answered: recorded
// responses and refusals, which are not part of this project.
//
// The tests need the folder with the recordings, which SETTLE_RECORDINGS names
// or which is beside the project as ../shared/recordings, and are built with
// the tag "recordings" only: .ci/run replay runs them wherever there is one.
// They read each recording anew, with encoding/json and the documented shapes
// of events alone, and compare: what the decoders make of it, whole, byte by
// byte and in odd pieces, and what the built binary says and sends back.
//
//	recording ─► decoder ─► items ──────┐
//	     │                              ├─ equal?
//	     └─► independent reading ───────┤
//	     └─► settle run ─► events, next request
package replay
