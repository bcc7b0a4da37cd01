package turn

import (
	"cmp"
	"context"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/model"
)

// demux turns the chunks of one response into events and starts its calls. It never waits for
// a tool, a person or a subscriber.
type demux struct {
	turn          *turn
	ctx           context.Context // context of the turn: calls outlive their attempt
	summary       bool            // only text is recorded, for a compaction
	attemptNumber int             // number of the attempt for this step, from 1
	attempt       string
	started       event.Event          // the attempt's start; zero if it was not recorded
	request       history.RequestStats // statistics of the request
	open          map[int]*openItem
	ids           map[string]bool // ids of the response's calls
	lastItem      *openItem       // the item of the last delta
	usage         event.Usage     // reported by the provider
	textBytes     int             // bytes of text, including ignored items
	tokens        *event.Tokens
	id            string // the provider's id of the response
	stop          model.StopReason
}

// openItem is an item between its start and its end.
type openItem struct {
	id           string
	role         model.Role
	callID, name string
	runes        runeBuffer
	mask         *redact.Stream
	ended        bool
	ignored      bool // the log has no item for it
}

var itemTypes = map[model.Role]event.ItemType{
	model.Assistant: event.Message,
	model.Reasoning: event.Reasoning,
	model.Call:      event.ToolCall,
}

// chunk processes the next chunk and reports whether it is the terminal one.
func (d *demux) chunk(c *model.Chunk) (done bool, err error) {
	switch c.Kind {
	case model.Start:
		d.id = c.ID
	case model.ItemStart:
		return false, d.startItem(*c)
	case model.Delta:
		return false, d.delta(c)
	case model.ItemEnd:
		return false, d.endItem(*c)
	case model.ItemDrop:
		return false, d.dropItem(c.Index)
	case model.Ping:
	case model.UsageReport:
		if c.Usage != nil {
			d.usage = *c.Usage
		}
	case model.TokenReport:
		if d.tokens == nil {
			d.tokens = &event.Tokens{}
		}
		d.tokens.Add(*c.Tokens)
	case model.End:
		if c.Usage != nil {
			d.usage = *c.Usage
		}
		d.stop = c.Stop
		return true, nil
	}
	return false, nil
}

func (d *demux) startItem(c model.Chunk) error {
	kind, ok := itemTypes[c.Role]
	if !ok || d.open[c.Index] != nil {
		return model.NewError(
			model.ErrMalformed, "item %d of the response begins twice or has no type (%q)", c.Index, c.Role,
		)
	}
	c.CallID, c.Name = d.turn.Redact.String(c.CallID), d.turn.Redact.String(c.Name)
	i := &openItem{role: c.Role, callID: c.CallID, name: c.Name, mask: d.turn.Redact.Stream()}
	d.open[c.Index] = i
	if d.summary {
		if i.ignored = c.Role != model.Assistant; i.ignored {
			return nil
		}
		kind = event.Digest
	}
	name := c.Name
	if c.Role == model.Call && name != "" {
		name = d.turn.view.Name(name)
	}
	return d.turn.update(func(s event.State) []event.Event {
		i.id = s.NextItem(0)
		return d.event(i, event.ItemStarted{Type: kind, ProviderID: c.ID, CallID: c.CallID, Name: name})
	})
}

func (d *demux) event(i *openItem, data event.Data) []event.Event {
	return []event.Event{{Turn: d.turn.id, Attempt: d.attempt, Item: i.id, Data: data}}
}

// item returns the open item at the index.
func (d *demux) item(index int) (*openItem, error) {
	i := d.open[index]
	if i == nil || i.ended {
		return nil, model.NewError(model.ErrMalformed, "item %d of the response continues without a start", index)
	}
	return i, nil
}

func (d *demux) delta(c *model.Chunk) error {
	i, err := d.item(c.Index)
	if err != nil {
		return err
	}
	d.lastItem = i
	d.countText(c.Text)
	return d.appendText(i, i.visibleText(c.Text))
}

// visibleText returns the part of the text that may be shown now: complete characters, with
// secrets masked.
func (i *openItem) visibleText(text string) string {
	return i.mask.Write(i.runes.Write(text))
}

// remainder returns the text that visibleText kept back.
func (i *openItem) remainder() string {
	return i.mask.Write(i.runes.Flush()) + i.mask.Flush()
}

// appendText appends to the item's text in the log.
func (d *demux) appendText(i *openItem, text string) error {
	if text == "" || i.ignored {
		return nil
	}
	stream := event.Text
	if i.role == model.Call {
		stream = event.Arguments
	}
	return d.turn.update(func(event.State) []event.Event {
		return d.event(i, event.ItemDelta{Stream: stream, Text: text})
	})
}

// visible reports whether the open item is text for people or the arguments of a call, so that
// silence is a stall and not reasoning.
func (d *demux) visible() bool {
	return d.lastItem != nil && !d.lastItem.ended && d.lastItem.role != model.Reasoning
}

func (d *demux) endItem(c model.Chunk) error {
	i, err := d.item(c.Index)
	if err != nil {
		return err
	}
	if err := d.appendText(i, i.remainder()); err != nil {
		return err
	}
	i.ended = true
	if i.ignored {
		return nil
	}
	if i.role == model.Call {
		return d.ready(i, c)
	}
	return d.turn.update(func(s event.State) []event.Event {
		content := s.Running().Item(i.id).Content()
		d.sign(&content, c)
		return d.event(i, event.ItemEnded{Status: event.ItemCompleted, Content: content})
	})
}

// dropItem ends a call that the provider withdrew and replaced by another one.
func (d *demux) dropItem(index int) error {
	i, err := d.item(index)
	if err != nil {
		return err
	}
	i.ended = true
	if i.ignored {
		return nil
	}
	return d.turn.update(func(s event.State) []event.Event {
		return []event.Event{d.endOpenItem(s.Running().Item(i.id))}
	})
}

// sign adds the provider's signature to the content. If a thought was masked, its signature
// does not fit any more.
func (d *demux) sign(content *event.Content, c model.Chunk) {
	content.Provider, content.Model = d.turn.target.Provider, d.turn.target.Model
	if c.ID != "" {
		content.ProviderID = c.ID
	}
	if !c.Signature.Binds() || !d.turn.Redact.Masked(content.Text) {
		content.Signature = c.Signature
	}
}

// ready records that a call is complete, with settle's tool name and arguments, and starts it
// at once.
func (d *demux) ready(i *openItem, c model.Chunk) error {
	c.CallID, c.Name = d.turn.Redact.String(c.CallID), d.turn.Redact.String(c.Name)
	call := &call{turn: d.turn, callSpec: callSpec{
		attempt: d.attempt, item: i.id, callID: cmp.Or(c.CallID, i.callID),
	}}
	call.duplicate, d.ids[call.callID] = d.ids[call.callID], true
	var arguments string
	d.turn.Log.View(func(s event.State) { arguments = s.Running().Item(i.id).Content().Arguments })
	parsed := d.turn.view.Read(cmp.Or(c.Name, i.name), arguments)
	call.name, call.args, call.argsErr = parsed.Name, parsed.Arguments, parsed.Err
	err := d.turn.update(func(event.State) []event.Event {
		return d.event(i, event.CallReady{
			Name: call.name, CallID: call.callID, Arguments: call.args, Sent: parsed.Sent, Signature: c.Signature,
		})
	})
	if err != nil {
		return err
	}
	d.turn.start(d.ctx, call)
	return nil
}

// complete ends an attempt whose response is complete. Text that the provider left open counts
// as complete; a call that it left open is aborted.
func (d *demux) complete() error {
	for _, i := range d.open {
		if i.ended || i.ignored {
			continue
		}
		if i.role == model.Call && !cutShort(d.stop) {
			return model.NewError(model.ErrTruncated, "the response ended within the arguments of a call of %q", i.name)
		}
		if err := d.appendText(i, i.remainder()); err != nil {
			return err
		}
	}
	return d.turn.update(func(s event.State) []event.Event {
		var out []event.Event
		for _, item := range s.Running().Items {
			if item.Attempt == d.attempt && item.Status == event.ItemOpen && !item.Ready {
				out = append(out, d.endOpenItem(item))
			}
		}
		end := d.end()
		end.Outcome = event.Completed
		return append(out, event.Event{Turn: d.turn.id, Attempt: d.attempt, Data: end})
	})
}

// cutShort reports whether a response with this stop reason may end anywhere.
func cutShort(stop model.StopReason) bool {
	return stop == model.StopMaxTokens || stop == model.StopRefusal || stop == model.StopFilter
}

// endOpenItem ends an item that the provider did not end.
func (d *demux) endOpenItem(item *event.Item) event.Event {
	end := event.ItemEnded{Status: event.ItemCompleted, Content: item.Content()}
	if item.Type() == event.ToolCall {
		end.Status, end.Effects = event.ItemAborted, event.EffectsNone
		end.Cause = event.Fail(&event.Failure{
			Name: event.NameProvider, Kind: string(d.stop), Message: "the response was cut within the call's arguments",
		})
	}
	return event.Event{Turn: d.turn.id, Attempt: d.attempt, Item: item.ID, Data: end}
}

// end returns the attempt's ending without its outcome.
func (d *demux) end() event.AttemptEnded {
	end := event.AttemptEnded{StopReason: string(d.stop), ResponseID: d.id, Tokens: d.tokens}
	end.Usage, end.Estimated = d.turn.usage(d.usage, d.request.Tokens, d.textBytes)
	if price := d.turn.Model.Price; price != nil && end.Usage != (event.Usage{}) {
		cost := price.Cost(end.Usage)
		end.Cost = &cost
	}
	return end
}
