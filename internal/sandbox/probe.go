package sandbox

// CanaryName is the first argument of a program that is to try to escape; its
// second is a [Bait].
const ProbeName = "settle-canary"

// Bait is what a canary tries to get at.
type ProbeTarget struct {
	// Dir is outside of the box, and has a file "bait" and a socket for datagrams
	// "listener"; Host is a process there.
	Dir  string `json:"dir"`
	Host int    `json:"host"`
	// Room is a folder in the box, that may be written to if Writes; Network says
	// which network it has.
	Room    string  `json:"room"`
	Writes  bool    `json:"writes"`
	Network Network `json:"network,omitempty"`
	// Proxy is where the proxy is, which answers a request by refusing it; Server is
	// the port of a server outside, and Apart says that the box has a network of its
	// own.
	Proxy  string `json:"proxy,omitempty"`
	Server int    `json:"server,omitempty"`
	Apart  bool   `json:"apart,omitempty"`
	// OwnProcesses says that the first process of the canary's namespace is the only one
	// outside of the sandbox that has a number there: what watches the canary. It stands
	// for Host.
	OwnProcesses bool `json:"own_processes,omitempty"`
	// View says that the box has a view of its own, and protects the file "kept" in
	// the folder "keeper" of Room.
	View bool `json:"view"`
	// Hides says that the box hides the file "hidden" and the folder "closed" of Room,
	// which has a file "hidden" as well.
	Hides bool `json:"hides,omitempty"`
}

// Escapes are what a canary has tried, and which of it was not refused.
type Escapes struct {
	Tried int      `json:"tried"`
	Out   []string `json:"out,omitempty"`
	// Stuck says that it could not even do what the box allows.
	Stuck string `json:"stuck,omitempty"`
}
