// Package assemble is the one place where a coding agent is put together: from
// the configuration in force it makes the [settle.Config] of a host and the
// [settle.SessionConfig] of a session, whichever face they are for. [Sessions]
// opens the sessions of a face whose clients choose how each is to work.
//
//	config.Resolved ─► choice of model ─► key, secrets ─► provider over HTTP
//	                ├► models ─► traits                    │
//	                ├► tools of a session, in custody      ├─► settle.SessionConfig
//	                └► prompt, limits, retry, timeouts ────┘
//
// Everything here happens before a model request is made, and what is wrong is
// an error for which the command line exits with 2. Nothing is asked of the
// network, but for the window of a model that only its own local server knows.
package assemble
