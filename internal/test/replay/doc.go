// Package replay tests settle with recorded responses and refusals of real servers. The
// recordings are not part of this project.
//
// The tests need the folder with the recordings, which SETTLE_RECORDINGS names
// or which is beside the project as ../shared/recordings, and are built with
// the tag "recordings" only: .ci/run replay runs them wherever there is one.
// They read each recording independently, with encoding/json and the documented shapes
// of events only. They compare the result with the decoders (fed at once, byte by byte
// and in odd pieces), and with the events and the next request of the built binary.
//
//	recording ─► decoder ─► items ──────┐
//	     │                              ├─ equal?
//	     └─► independent reading ───────┤
//	     └─► settle run ─► events, next request
package replay
