// Package page is the web page of settle: hand-written HTML, CSS and ES
// modules, embedded in the binary, and the handler that serves them.
//
//	GET /            index.html
//	GET /assets/…    its scripts, styles and icon
//
// Nothing is compiled and nothing comes from another host. The files are packed into
// assets.json.gz, which the binary embeds: after a change of one, run
// "go test ./internal/frontend/web/page -update". The page talks to the
// HTTP API next to it (/api/…); its state is a fold over a session's events
// (assets/fold.js), in step with package event. Each answer carries a content
// security policy under which neither markup nor script from a model or a tool
// can run, even if the page had a defect that let it in: no inline script or
// style, no other origin, and the browser refuses strings where it expects
// markup (trusted types).
//
// The scripts are tested by unit/, the page in Chromium by e2e/, all of it by
// "go test". "node e2e/stills.mjs DIRECTORY" takes pictures to look at.
package page
