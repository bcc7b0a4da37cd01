package modeltest

import "sync"

// issued holds the signatures, calls and reasoning items of the server's responses, to recognise
// them in later requests. Its zero value is ready.
type issued struct {
	mu sync.Mutex
	// signed has the text of each thinking block by its signature.
	signed map[string]string
	// thought has the tool_use ids that came with a thinking block before them.
	thought map[string]bool
	// followed has the item that followed each reasoning item, by the id of the reasoning item;
	// needs is the inverse map. Only Responses requests and responses use the two maps.
	followed map[string]follower
	needs    map[string]string
	// reasoned has the ids of all reasoning items.
	reasoned map[string]bool
	// recorded has the signatures and ids in the recordings that were played.
	recorded map[string]bool
}

// follower is the item after a reasoning item.
type follower struct{ id, callID string }

func (s *issued) remember(r *rendering) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signed == nil {
		s.signed, s.thought = map[string]string{}, map[string]bool{}
		s.followed, s.needs, s.reasoned = map[string]follower{}, map[string]string{}, map[string]bool{}
		s.recorded = map[string]bool{}
	}
	for _, signature := range signatures(r.Stream) {
		s.recorded[signature] = true
	}
	thinking := false
	for i, it := range r.Items {
		switch {
		case it.Call != "":
			s.thought[r.callID(i)] = thinking
		case it.Reasoning != "":
			thinking = true
			text := it.joined(it.Reasoning)
			s.signed[r.account.signature(text)] = text
			s.reasoned[r.id("rs_", i)] = true
			if i+1 < len(r.Items) && r.dialect == Responses {
				next := r.follower(i + 1)
				s.followed[r.id("rs_", i)] = next
				s.needs[next.id] = r.id("rs_", i)
			}
		}
	}
}

// follower is item number i of a Responses stream.
func (r *rendering) follower(i int) follower {
	switch it := r.Items[i]; {
	case it.Call != "" && r.custom[it.Call]:
		return follower{r.id("ctc_", i), r.callID(i)}
	case it.Call != "":
		return follower{r.id("fc_", i), r.callID(i)}
	case it.Reasoning != "":
		return follower{id: r.id("rs_", i)}
	case r.searches[i] != "":
		return follower{id: r.searchID(i)}
	}
	return follower{id: r.id("msg_", i)}
}

// altered reports whether the signature was issued for a different text.
func (s *issued) altered(sig, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, ok := s.signed[sig]
	return ok && was != text
}

// unthought reports whether the call was issued without thinking before it.
func (s *issued) unthought(callID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	thinking, known := s.thought[callID]
	return known && !thinking
}

// after returns the item that followed the reasoning item, if it is known.
func (s *issued) after(reasoning string) (follower, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.followed[reasoning]
	return f, ok
}

// before returns the reasoning item that the item came after, "" for none.
func (s *issued) before(item string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.needs[item]
}

// knows reports whether the reasoning item was issued.
func (s *issued) knows(reasoning string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reasoned[reasoning] || s.recorded[reasoning]
}

// played reports whether the signature is in a recording that was played.
func (s *issued) played(signature string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.recorded[signature]
}
