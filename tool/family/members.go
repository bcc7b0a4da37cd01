package family

import (
	"encoding/json"
	"strings"

	"github.com/settle-agent/settle/event"
)

// object is a JSON object that keeps its text: unchanged parts are written as read,
// including white space and order, so that a name that is changed and changed back leaves
// no trace.
type object struct {
	open, end string
	members   []member
}

// member is one member of an object, with its original texts.
type member struct {
	lead  string // text before it; the object has the text before the first member
	key   string
	text  string // the quoted key
	colon string
	value string
}

// parse reads a JSON object; ok is false for anything else.
func parse(text string) (o *object, ok bool) {
	if !json.Valid([]byte(text)) || !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return nil, false
	}
	p := &reader{text: text}
	o = &object{open: p.past("{")}
	for p.text[p.at] == '"' {
		m := member{}
		if len(o.members) > 0 {
			m.lead = o.end
		}
		m.text = p.value()
		_ = json.Unmarshal([]byte(m.text), &m.key) // the text is valid
		m.colon = p.past(":")
		m.value = p.value()
		o.members = append(o.members, m)
		if o.end = p.past(","); o.end == "" {
			break
		}
	}
	o.end = text[p.at:]
	return o, true
}

// reader reads valid JSON.
type reader struct {
	text string
	at   int
}

// past returns the mark with the white space on both sides; "" if another text follows.
func (p *reader) past(mark string) string {
	begin := p.at
	p.space()
	if !strings.HasPrefix(p.text[p.at:], mark) {
		p.at = begin
		return ""
	}
	p.at += len(mark)
	p.space()
	return p.text[begin:p.at]
}

func (p *reader) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// value returns the text of the next value.
func (p *reader) value() string {
	begin, depth := p.at, 0
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case '"':
			p.quoted()
			if depth == 0 {
				return p.text[begin:p.at]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return p.text[begin:p.at] // the bracket is of the container of a number, true, false or null
			}
			if depth--; depth == 0 {
				p.at++
				return p.text[begin:p.at]
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return p.text[begin:p.at]
			}
		}
		p.at++
	}
	return p.text[begin:p.at]
}

// quoted moves behind a string.
func (p *reader) quoted() {
	for p.at++; p.text[p.at] != '"'; p.at++ {
		if p.text[p.at] == '\\' {
			p.at++
		}
	}
	p.at++
}

// String returns the object's text.
func (o *object) String() string {
	var b strings.Builder
	b.WriteString(o.open)
	for n, m := range o.members {
		if n > 0 {
			b.WriteString(m.lead)
		}
		b.WriteString(m.text + m.colon + m.value)
	}
	b.WriteString(o.end)
	return b.String()
}

func (o *object) find(key string) *member {
	for n := range o.members {
		if o.members[n].key == key {
			return &o.members[n]
		}
	}
	return nil
}

func (o *object) has(key string) bool { return o.find(key) != nil }

// text returns a string member; "" if there is none.
func (o *object) text(key string) (s string) {
	if m := o.find(key); m != nil {
		_ = json.Unmarshal([]byte(m.value), &s) // otherwise the result stays empty
	}
	return s
}

// number returns a numeric member.
func (o *object) number(key string) (n float64, ok bool) {
	m := o.find(key)
	return n, m != nil && json.Unmarshal([]byte(m.value), &n) == nil && m.value != "null"
}

// is reports whether the member is true.
func (o *object) is(key string) bool {
	m := o.find(key)
	return m != nil && m.value == "true"
}

func (o *object) rename(from, to string) {
	if m := o.find(from); m != nil && !o.has(to) {
		m.key, m.text = to, quote(to)
	}
}

func (o *object) drop(keys ...string) {
	for _, key := range keys {
		for n := range o.members {
			if o.members[n].key == key {
				o.members = append(o.members[:n:n], o.members[n+1:]...)
				break
			}
		}
	}
}

// set replaces the member's value, or adds it at the end.
func (o *object) set(key string, value any) {
	b, _ := event.AppendJSON(nil, value) // strings, numbers and lists of them
	raw := string(b)
	if m := o.find(key); m != nil {
		m.value = raw
		return
	}
	lead, colon := ",", ":"
	if n := len(o.members); n > 0 {
		colon = o.members[n-1].colon
		if n > 1 {
			lead = o.members[n-1].lead
		}
	}
	o.members = append(o.members, member{lead: lead, key: key, text: quote(key), colon: colon, value: raw})
}

func quote(s string) string { return string(event.AppendString(nil, s)) }

// names returns a member that is a list of strings; nil for another value.
func names(o *object, key string) (list []string) {
	if m := o.find(key); m != nil {
		_ = json.Unmarshal([]byte(m.value), &list) // otherwise the result stays nil
	}
	return list
}
