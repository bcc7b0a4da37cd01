package redact

import "strings"

// matcher is an Aho-Corasick automaton over all forms of all secrets. It is immutable. The
// trie is nearly a set of chains, so nodes keep their children in a list; only the root,
// which ordinary text rarely leaves, has a table.
type matcher struct {
	root  [256]int32
	nodes []node
}

type node struct {
	child   int32 // first child, 0 if none
	sibling int32 // next child of the same parent, 0 if none
	fail    int32 // node of the longest proper suffix that is in the trie
	depth   int32
	longest int32 // length of the longest secret that ends here, 0 if none
	char    byte  // the last byte of the node's string
}

// span is a run of bytes that is masked as one.
type span struct{ start, end int }

// ending reports whether a text is complete.
type ending bool

const (
	partial  ending = false // more text can follow
	complete ending = true
)

func newMatcher(secrets []string) *matcher {
	m := &matcher{nodes: make([]node, 1)}
	for _, secret := range secrets {
		m.insert(secret)
	}
	m.link()
	return m
}

func (m *matcher) insert(secret string) {
	at := int32(0)
	for i := range len(secret) {
		next := m.find(at, secret[i])
		if next == 0 {
			next = int32(len(m.nodes))
			m.nodes = append(m.nodes, node{char: secret[i], sibling: m.nodes[at].child, depth: m.nodes[at].depth + 1})
			m.nodes[at].child = next
		}
		at = next
	}
	m.nodes[at].longest = m.nodes[at].depth
}

func (m *matcher) find(at int32, char byte) int32 {
	for child := m.nodes[at].child; child != 0; child = m.nodes[child].sibling {
		if m.nodes[child].char == char {
			return child
		}
	}
	return 0
}

// link sets the fail links, level by level.
func (m *matcher) link() {
	var queue []int32
	for child := m.nodes[0].child; child != 0; child = m.nodes[child].sibling {
		m.root[m.nodes[child].char] = child
		queue = append(queue, child)
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for child := m.nodes[at].child; child != 0; child = m.nodes[child].sibling {
			fail := m.step(m.nodes[at].fail, m.nodes[child].char)
			m.nodes[child].fail = fail
			m.nodes[child].longest = max(m.nodes[child].longest, m.nodes[fail].longest)
			queue = append(queue, child)
		}
	}
}

func (m *matcher) step(at int32, char byte) int32 {
	for at != 0 {
		if next := m.find(at, char); next != 0 {
			return next
		}
		at = m.nodes[at].fail
	}
	return m.root[char]
}

// scan returns the spans of text to mask, in order and with overlapping spans joined. open
// is the number of bytes at the end of text that are the beginning of a secret.
func scan[T string | []byte](m *matcher, text T, end ending) (found []span, open int) {
	at := int32(0)
	for i := 0; i < len(text); i++ {
		if at == 0 {
			for i < len(text) && m.root[text[i]] == 0 {
				i++
			}
			if i == len(text) {
				break
			}
		}
		at = m.step(at, text[i])
		if n := m.nodes[at].longest; n > 0 {
			found = join(found, span{i + 1 - int(n), i + 1})
		}
	}
	open = int(m.nodes[at].depth)
	if end == complete && open >= MinLength {
		found = join(found, span{len(text) - open, len(text)})
	}
	return found, open
}

// join adds a span that ends at or after all others.
func join(found []span, next span) []span {
	for len(found) > 0 && found[len(found)-1].end > next.start {
		next.start = min(next.start, found[len(found)-1].start)
		found = found[:len(found)-1]
	}
	return append(found, next)
}

// replace masks text after its first done bytes, which the caller has already written out
// behind a mask. It keeps back the end of a partial text that can be the beginning of a
// secret: the caller prepends tail to the next text, and the first kept bytes of tail are
// already written out.
func replace(m *matcher, text string, done int, end ending) (out, tail string, kept int) {
	found, open := scan(m, text, end)
	cut := len(text)
	if end == partial {
		cut -= open
	}
	var b strings.Builder
	masked := false
	for _, s := range found {
		// A span after cut can still become part of a longer secret.
		if s.start > cut {
			break
		}
		if s.start >= done {
			b.WriteString(text[done:s.start])
			b.WriteString(Mask)
			masked = true
		}
		done = max(done, s.end)
	}
	rest := text[done:max(done, cut)]
	done = max(done, cut)
	tail, kept = text[cut:], done-cut
	if !masked {
		return rest, tail, kept
	}
	b.WriteString(rest)
	return b.String(), tail, kept
}
