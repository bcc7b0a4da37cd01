// Package agent puts an agent together: from the configuration that is in
// force it makes the [settle.Config] of a host, whichever way in it is for.
//
//	config.Resolved ─► choice of model ─► key, secrets ─► provider over HTTP
//	                ├► models ─► traits                    │
//	                ├► tools of a session, in custody      ├─► settle.Config
//	                └► prompt, limits, retry, bounds ──────┘
//
// Everything here happens before a model request is made, and what is wrong is
// an error for which the command line exits with 2. Nothing is asked of the
// network, but for the window of a model that only its own local server knows.
package agent
