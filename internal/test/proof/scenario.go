package proof

import (
	"cmp"

	"github.com/settle-agent/settle/modeltest"
	"github.com/settle-agent/settle/tool/plan"
)

const modelName = "claude-sonnet-4-5"

func (s Script) model() string { return cmp.Or(s.Caches, modelName) }

// probeText is the input of a probe.
const probeText = "And now, ~probe~?"

// Scenario is the script as the model's server plays it. Probes have an answer
// of their own, so that they do not play the rest of the script.
func (s Script) Scenario() modeltest.Scenario {
	harmless := modeltest.Quirk(modeltest.FaultComments).First(modeltest.Always) // so that it is never used up
	turns := []modeltest.Turn{modeltest.Say("Fine.").For("~probe~").With(harmless)}
	for _, r := range s.Responses {
		turns = append(turns, r.turn(s.item))
	}
	out := modeltest.Script(turns...)
	if s.Holds.Tokens > 0 {
		out.Rules.Models = []modeltest.Model{{ID: s.model(), Window: s.Holds.Tokens, TokenBytes: s.Holds.Bytes}}
		out.Rules.Terse = s.Holds.Terse
	}
	out.Rules.Caches = s.Caches != ""
	_, out.Rules.Provider = s.Wire.split()
	out.Answer = func(modeltest.Request) modeltest.Turn { return modeltest.Say("That is all.") }
	return out
}

func (r Response) turn(say func(Item) modeltest.Item) modeltest.Turn {
	t := modeltest.Turn{Faults: r.Faults}
	t.Response.Stop, t.Pace = r.Stop, modeltest.Duration(r.Pace)
	for _, i := range r.Items {
		item := say(i)
		item.ChunkSize = len(i.Text) / 40 // 0 is the usual size
		if len(i.Text) < 1000 {
			item.ChunkSize = 0
		}
		t.Items = append(t.Items, item)
	}
	return t
}

// item returns an item in the format of modeltest.
func (s Script) item(i Item) modeltest.Item {
	if s.Families && i.Kind == Call {
		return i.Plan.familiar()
	}
	return i.item()
}

func (i Item) item() modeltest.Item {
	switch i.Kind {
	case Think:
		return modeltest.Think(i.Text)
	case Redacted:
		return modeltest.Item{Reasoning: i.Text, Redacted: true}
	case Refuse:
		return modeltest.Item{Refusal: i.Text}
	case Call:
		return modeltest.Call("do", planArguments(i.Plan))
	case Propose:
		return modeltest.Call(plan.ProposeName, proposal(i.Text))
	case Unknown:
		return modeltest.Call("nope", `{}`)
	case Invalid:
		return modeltest.Call("do", `{"plan":7}`)
	case Find:
		return modeltest.Find("do")
	case Broken:
		return modeltest.Call("do", `{"plan":`)
	}
	return modeltest.Text(i.Text)
}
