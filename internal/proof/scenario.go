package proof

import (
	"github.com/settle-agent/settle/settletest"
)

const modelName = "claude-sonnet-4-5"

// probeText is what a probe sends.
const probeText = "And now, ~probe~?"

// scenario is the script as the model's server plays it. Probes have an answer
// of their own, so that whatever the script has left is not played to them.
func (s Script) scenario() settletest.Scenario {
	harmless := settletest.Quirk(settletest.FaultComments).First(settletest.Always) // so that it is never used up
	turns := []settletest.Turn{settletest.Say("Fine.").For("~probe~").With(harmless)}
	for _, r := range s.Responses {
		turns = append(turns, r.turn())
	}
	out := settletest.Script(turns...)
	if s.Holds.Tokens > 0 {
		out.Rules.Models = []settletest.Model{{ID: modelName, Window: s.Holds.Tokens, TokenBytes: s.Holds.Bytes}}
		out.Rules.Terse = s.Holds.Terse
	}
	_, out.Rules.Provider = s.Wire.split()
	out.Answer = func(settletest.Request) settletest.Turn { return settletest.Say("That is all.") }
	return out
}

func (r Response) turn() settletest.Turn {
	t := settletest.Turn{Faults: r.Faults}
	t.Response.Stop, t.Pace = r.Stop, settletest.Duration(r.Pace)
	for _, i := range r.Items {
		item := i.item()
		item.ChunkSize = len(i.Text) / 40 // 0 is the usual size
		if len(i.Text) < 1000 {
			item.ChunkSize = 0
		}
		t.Items = append(t.Items, item)
	}
	return t
}

func (i Item) item() settletest.Item {
	switch i.Kind {
	case Think:
		return settletest.Think(i.Text)
	case Redacted:
		return settletest.Item{Reasoning: i.Text, Redacted: true}
	case Refuse:
		return settletest.Item{Refusal: i.Text}
	case Call:
		return settletest.Call("do", planArguments(i.Plan))
	case Unknown:
		return settletest.Call("nope", `{}`)
	case Invalid:
		return settletest.Call("do", `{"plan":7}`)
	case Broken:
		return settletest.Call("do", `{"plan":`)
	}
	return settletest.Text(i.Text)
}
