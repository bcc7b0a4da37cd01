package acp_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// moves returns a step that chooses the response to each request at random.
func moves(r *rand.Rand) script.Step {
	return script.Answer(func(model.Request) script.Step {
		switch r.IntN(6) {
		case 0:
			return script.Turn(script.Text("a"), script.Stall())
		case 1:
			return script.Fail(&model.Error{Kind: model.ErrInvalid, Status: 400, Message: "no"})
		case 2:
			return writes(fmt.Sprintf("%d.txt", r.IntN(3)))
		case 3:
			return script.Turn(script.Text("b"), script.Call("list", `{}`))
		default:
			return script.Text("done")
		}
	})
}

// For any actions of a client, each of its prompts is answered once, in the end; the log keeps the
// contract, which the end of the test checks.
func TestRandomClients(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r, theirs := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
			c := start(t, script.New().Otherwise(moves(theirs)))
			c.Answer("session/request_permission", func(json.RawMessage) (any, error) {
				return []any{
					object{"outcome": object{"outcome": "selected", "optionId": "allow"}},
					object{"outcome": object{"outcome": "selected", "optionId": "reject"}},
					object{"outcome": object{"outcome": "cancelled"}},
					nil,
				}[seed%4], nil
			})
			session := c.open()
			var sent []*jsonrpc.Outgoing
			var ended []<-chan string
			for range 10 + r.IntN(20) {
				switch r.IntN(5) {
				case 0:
					c.cancel(session)
				case 1:
					if len(sent) > 0 {
						_ = c.Conn.Notify(
							t.Context(),
							"$/cancel_request",
							object{"requestId": sent[r.IntN(len(sent))].ID},
						)
					}
				case 2:
					if len(ended) > 0 && r.IntN(2) == 0 {
						c.cancel(session)
						wait(c, ended[len(ended)-1])
						ended = ended[:len(ended)-1]
					}
				default:
					one, err := c.Conn.Send(
						t.Context(),
						"session/prompt",
						object{"sessionId": session, "prompt": text("go")},
					)
					if err != nil {
						t.Fatal(err)
					}
					sent, ended = append(sent, one), append(ended, c.outcome(one))
				}
			}
			if seed%2 == 0 {
				c.cancel(session)
			} else {
				c.Must("initialize", object{"protocolVersion": 1}) // all before it has arrived
				c.End()
			}
			for _, one := range ended {
				wait(c, one)
			}
			answers := 0
			for _, line := range c.story() {
				if len(line) > 5 && (line[:5] == "end: " || line[:6] == "error:") {
					answers++
				}
			}
			if answers != len(sent) {
				t.Errorf("%d prompts, %d answers", len(sent), answers)
			}
		})
	}
}
