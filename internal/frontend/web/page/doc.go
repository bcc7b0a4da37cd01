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
// main.js decides the content of the page: it opens a session (session.js) and passes each event to
// the views.
//
//	main.js         the bar, keys, dialogs, and when something is drawn
//	session.js      the open session; stream.js: its events, with reconnection; sse.js: their format
//	fold.js         events to the state of a session
//	api.js          requests of the HTTP API; token.js: the token of the tab; signin.js: its form
//	rows.js         which rows a transcript has; transcript.js: which rows have elements, scrolling
//	row.js          prompts, failed attempts, endings of turns; item.js: messages, reasoning, calls
//	guard.js        a view that cannot be drawn: its raw text instead
//	markdown.js     Markdown to a tree; markup.js: the tree to elements
//	highlight.js    colors of code, by the table in languages.js; diff.js: changes of files
//	review.js       the changes of a session, with comments on lines; review.css
//	timeline.js     the picture of a turn; timing.js: its spans
//	composer.js     the message box, drafts, images, unsent inputs; complete.js: paths after "@"
//	approvals.js    questions that wait; form.js: forms of MCP servers
//	plan.js         the steps of the model's plan
//	menu.js         the menu of the bar
//	home.js         what is there before the first message; overview.js: all sessions at a glance
//	notify.js       notifications of the browser
//	sessions.js     the list of sessions; jobs.js, rewind.js, settings.js: a panel or dialog each
//	words.js        durations, numbers and causes in words; terms.js: the table of package event, generated;
//	                visible.js: hidden characters, escapes
//	dom.js          the only file that creates elements
//	index.html      the elements that are always there
//	base.css        colors, type and controls; frame.css: the frame; transcript.css: rows and items;
//	                timeline.css: the picture of a turn
//	app.webmanifest how the page is installed
//
// The scripts are tested by unit/, the page in Chromium by e2e/, all of it by
// "go test". "make pictures" takes pictures of it.
package page
