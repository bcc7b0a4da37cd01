package appserver

import (
	"context"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/rpc"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/internal/question"
)

// userAnswers is the client's answer to questions, by the ids of the questions.
type userAnswers struct {
	Answers map[string]struct {
		Answers []string `json:"answers"`
	} `json:"answers"`
}

// inquire asks the client's user the model's questions.
func (l *loadedThread) inquire(ctx context.Context, q asker.Question) asker.SentQuestion {
	var list []object
	for n, one := range q.Form.Questions {
		var options []object // null for free text
		for _, o := range one.Options {
			options = append(options, object{"label": o.Label, "description": o.Description})
		}
		list = append(list, object{
			"id": question.Key(n), "header": one.Header, "question": one.Question, "options": options,
			"isOther": len(options) > 0, "isSecret": false,
		})
	}
	sent, err := l.s.Send(ctx, "item/tool/requestUserInput", object{
		"threadId": l.id(), "turnId": q.Turn, "itemId": q.Item, "questions": list,
		"isBlocking": true, "autoResolutionMs": nil,
	})
	if err != nil {
		return nil // the connection is at its end, and with it the turn
	}
	read := func(got userAnswers, err error) (asker.Answer, error) {
		if err != nil {
			return asker.Filled(asker.Reply{}, err)
		}
		return asker.Answer{Verdict: event.Approved, Content: got.content(q.Form.Questions)}, nil
	}
	return rpc.Question[userAnswers]{Sent: sent, Read: read, Back: func(sent *jsonrpc.Outgoing) {
		l.s.notify(note{"serverRequest/resolved", object{"threadId": l.id(), "requestId": sent.ID}})
	}}
}

// content returns the values of the form. Codex marks the user's own words.
func (u userAnswers) content(questions []event.Question) []byte {
	answers := make([][]string, len(questions))
	for n := range questions {
		for _, one := range u.Answers[question.Key(n)].Answers {
			answers[n] = append(answers[n], strings.TrimPrefix(one, "user_note: "))
		}
		if len(answers[n]) > 1 && !questions[n].MultiSelect { // a note belongs to its option
			answers[n] = []string{strings.Join(answers[n], ", ")}
		}
	}
	return question.Content(questions, answers)
}
