package agent

// Places is how many sessions have a place, open or not.
func (h *Hosts) Places() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.open)
}
