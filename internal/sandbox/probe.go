package sandbox

// ProbeName is the first argument of a program that runs a probe; its second is a [ProbeTarget].
const ProbeName = "settle-canary"

// ProbeTarget describes the targets that a probe tries to reach.
type ProbeTarget struct {
	// Dir is outside of the sandbox and has a file "target" and a datagram socket "listener"; Host
	// is a process outside.
	Dir  string `json:"dir"`
	Host int    `json:"host"`
	// Room is a folder in the sandbox, writable if Writes; Network is the sandbox's network.
	Room    string  `json:"room"`
	Writes  bool    `json:"writes"`
	Network Network `json:"network,omitempty"`
	// Proxy is the address of the proxy, which refuses requests; Server is the port of a server
	// outside. Apart reports that the sandbox has a network of its own.
	Proxy  string `json:"proxy,omitempty"`
	Server int    `json:"server,omitempty"`
	Apart  bool   `json:"apart,omitempty"`
	// OwnProcesses reports that the probe's namespace has only one process outside of the
	// sandbox: the supervisor, which replaces Host.
	OwnProcesses bool `json:"own_processes,omitempty"`
	// View reports that the sandbox has View, and protects the file "kept" in the folder
	// "keeper" of Room.
	View bool `json:"view"`
	// Hides reports that the sandbox hides the file "hidden" and the folder "closed" of Room,
	// which also has a file "hidden".
	Hides bool `json:"hides,omitempty"`
}

// Escapes are the number of tried escapes and the successful ones.
type Escapes struct {
	Tried int      `json:"tried"`
	Out   []string `json:"out,omitempty"`
	// Stuck reports that an allowed operation failed.
	Stuck string `json:"stuck,omitempty"`
}
