package settle

import "time"

// Limits end a turn that goes on for too long: it is aborted with the reason
// "limit", and a new input continues it.
type Limits struct {
	Steps   int           // responses of the model; 0 for no limit
	Time    time.Duration // 0 for no limit
	Repeats int           // same call, same result; 0 means 10, negative none
	Tokens  int64         // input and output of all its requests; 0 for no limit
	Cost    float64       // of all its requests, in US dollars; 0 for no limit; needs the model's Price
}

// Retry says how often a failed request is made again. The zero value retries
// server faults five times, stalls twice, and a provider that is overloaded or
// cannot be reached for ten minutes.
type Retry struct {
	// Retries, if set, is how many retries any kind of fault gets.
	Retries *int
	// RetryFor is for how long a provider is tried again that is overloaded or
	// cannot be reached; 0 means 10 minutes, negative not at all.
	RetryFor time.Duration
}
