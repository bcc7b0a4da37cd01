package chat

import (
	"bytes"
	"encoding/json"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/jsonscan"
)

// members are the fields of a call that the API does not define and a server adds, such as Gemini's
// extra_content with its thought signature
// (https://ai.google.dev/gemini-api/docs/thought-signatures). Later requests contain them
// unchanged: Gemini refuses a call without its signature.
type members map[string]json.RawMessage

// scan adds the object's members, except the known ones and members that are null.
func (m *members) scan(object []byte, known ...string) error {
	scan := jsonscan.Members(object)
next:
	for scan.Next() {
		for _, name := range known {
			if string(scan.Key) == name {
				continue next
			}
		}
		if !jsonscan.IsNull(scan.Value) {
			m.add(members{string(scan.Key): bytes.Clone(scan.Value)})
		}
	}
	return scan.Err()
}

func (m *members) add(more members) {
	if *m == nil && len(more) > 0 {
		*m = members{}
	}
	for name, value := range more {
		(*m)[name] = value
	}
}

func (m members) signature() *model.ProviderSignature {
	if len(m) == 0 {
		return nil
	}
	data, err := json.Marshal(m)
	if err != nil {
		return nil // decoded JSON can be encoded
	}
	return &model.ProviderSignature{Format: event.SignatureMembers, Data: string(data)}
}

// attachment holds members that arrive after their call or message has ended: members of calls that
// run already, and of the message. It becomes an item of its own, without text.
type attachment struct {
	Calls   map[string]members `json:"calls,omitempty"` // by the call's id
	Message members            `json:"message,omitempty"`
}

func (a *attachment) call(id string, more members) {
	if len(more) == 0 {
		return
	}
	if a.Calls == nil {
		a.Calls = map[string]members{}
	}
	m := a.Calls[id]
	m.add(more)
	a.Calls[id] = m
}

func (a attachment) signature() *model.ProviderSignature {
	if len(a.Calls) == 0 && len(a.Message) == 0 {
		return nil
	}
	data, err := json.Marshal(a)
	if err != nil {
		return nil // as above
	}
	return &model.ProviderSignature{Format: event.SignatureAttached, Data: string(data)}
}

// attach adds late members to their call or text.
func (m *message) attach(signature string) {
	var a attachment
	if json.Unmarshal([]byte(signature), &a) != nil {
		return
	}
	m.members.add(a.Message)
	for i := range m.ToolCalls {
		m.ToolCalls[i].members.add(a.Calls[m.ToolCalls[i].ID])
	}
}

// withMembers returns the object with the members added, in their order.
func withMembers(object []byte, m members) ([]byte, error) {
	if len(m) == 0 {
		return object, nil
	}
	more, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	object = append(bytes.Clone(object[:len(object)-1]), ',')
	return append(object, more[1:]...), nil
}
