package event

// Usage counts tokens. Input includes the tokens that were read from and written to
// the provider's cache; Output includes Reasoning.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	CacheRead  int64 `json:"cache_read_tokens,omitempty"`
	CacheWrite int64 `json:"cache_write_tokens,omitempty"`
	Output     int64 `json:"output_tokens"`
	Reasoning  int64 `json:"reasoning_tokens,omitempty"`
}

// Add returns the sum of u and v. Counts saturate, and a negative count is 0: logs can
// come from other programs, and a limit must not be escaped by an overflow.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:      sum(u.Input, v.Input),
		CacheRead:  sum(u.CacheRead, v.CacheRead),
		CacheWrite: sum(u.CacheWrite, v.CacheWrite),
		Output:     sum(u.Output, v.Output),
		Reasoning:  sum(u.Reasoning, v.Reasoning),
	}
}

// Total returns the tokens of input and output together.
func (u Usage) Total() int64 { return sum(u.Input, u.Output) }

// Within reports whether every count is between 0 and limit.
func (u Usage) Within(limit int64) bool {
	for _, n := range []int64{u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning} {
		if n < 0 || n > limit {
			return false
		}
	}
	return true
}

// sum adds counts; negative ones are 0, and the sum saturates.
func sum[T int | int64](a, b T) T {
	a, b = max(a, 0), max(b, 0)
	if c := a + b; c >= 0 {
		return c
	}
	highest := T(1)
	for highest<<1 > 0 {
		highest = highest<<1 | 1
	}
	return highest
}

// maxCost is the highest cost in US dollars that is counted.
const maxCost = 1e15

// addCost adds costs; negative ones and NaN are 0, and the sum is bounded, so that it
// can always be written as JSON.
func addCost(a, b float64) float64 {
	positive := func(n float64) float64 {
		if n > 0 { // false for NaN
			return min(n, maxCost)
		}
		return 0
	}
	return min(positive(a)+positive(b), maxCost)
}

// Tokens are the tokens of a request and its response as numbers of the model's
// vocabulary, for training.
type Tokens struct {
	Prompt     []int32   `json:"prompt,omitempty"`
	Completion []int32   `json:"completion,omitempty"`
	Logprobs   []float64 `json:"logprobs,omitempty"` // of the completion
	// Incomplete reports that tokens are missing: there were too many, or the server
	// sent other data.
	Incomplete bool `json:"incomplete,omitempty"`
}

// maxTokens bounds the total length of the lists of Tokens, at about the size of the
// largest request.
const maxTokens = 1 << 20

// Add appends the next tokens of a response, up to maxTokens.
func (t *Tokens) Add(more Tokens) {
	n := len(
		t.Prompt,
	) + len(
		t.Completion,
	) + len(
		t.Logprobs,
	) + len(
		more.Prompt,
	) + len(
		more.Completion,
	) + len(
		more.Logprobs,
	)
	if t.Incomplete = t.Incomplete || more.Incomplete || n > maxTokens; t.Incomplete {
		return
	}
	if more.Prompt != nil { // complete in one chunk
		t.Prompt = more.Prompt
	}
	t.Completion = append(t.Completion, more.Completion...)
	t.Logprobs = append(t.Logprobs, more.Logprobs...)
}

// Summary is the consumption of a finished turn.
type Summary struct {
	Steps    int   `json:"steps"`            // complete responses of the model, except summaries
	Attempts int   `json:"attempts"`         // requests that were sent
	Calls    int   `json:"calls"`            // tool calls that started
	Denied   int   `json:"denied,omitempty"` // approvals that were denied
	Usage    Usage `json:"usage"`
	// Cost is the sum of all requests with a known price, in US dollars. Unpriced
	// counts the requests that used tokens at an unknown price: if it is not 0, the
	// total cost is unknown.
	Cost     float64 `json:"cost_usd,omitempty"`
	Unpriced int     `json:"unpriced,omitempty"`
}

// CostUSD returns the total cost in US dollars; known is false if nothing was used,
// or if a price is unknown.
func (s Summary) CostUSD() (usd float64, known bool) {
	return s.Cost, s.Unpriced == 0 && s.Cost > 0
}

// Add adds the usage of an attempt.
func (s *Summary) Add(end AttemptEnded) {
	s.Usage = s.Usage.Add(end.Usage)
	switch {
	case end.Cost != nil:
		s.Cost = addCost(s.Cost, *end.Cost)
	case end.Usage != (Usage{}):
		s.Unpriced = sum(s.Unpriced, 1)
	}
}

// Join adds the consumption of other turns.
func (s *Summary) Join(more Summary) {
	s.Steps, s.Attempts = sum(s.Steps, more.Steps), sum(s.Attempts, more.Attempts)
	s.Calls, s.Denied = sum(s.Calls, more.Calls), sum(s.Denied, more.Denied)
	s.Usage = s.Usage.Add(more.Usage)
	s.Cost, s.Unpriced = addCost(s.Cost, more.Cost), sum(s.Unpriced, more.Unpriced)
}
