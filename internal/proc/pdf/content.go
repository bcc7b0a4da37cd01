package pdf

import (
	"errors"
	"math"

	"github.com/ledongthuc/pdf"
)

const (
	// maxForms bounds how deep forms, which are contents within contents, are followed.
	maxForms = 8
	// defaultWidth is the assumed width of a glyph whose font does not state it, in thousandths
	// of the font's size.
	defaultWidth = 500
	// maxWidths bounds the widths that are read from one font: a few bytes can state all of them,
	// any number of times.
	maxWidths = 4 * math.MaxUint16
)

// run is a string that a page shows. Places and sizes are in the page's units.
type run struct {
	text       string
	x, y, end  float64 // where it begins and ends
	size       float64 // of the font
	isMeasured bool    // the font states widths
}

// matrix is a transformation as PDF writes it: a b c d e f.
type matrix [6]float64

// times returns the transformation by m and then by n.
func (m matrix) times(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

func moved(x, y float64) matrix { return matrix{1, 0, 0, 1, x, y} }

// font is a font whose encoding and widths were read.
type font struct {
	pdf.Font
	decode pdf.TextEncoding
	widths map[int]float64 // of glyphs by code, in thousandths of the size; nil if unknown
	rest   float64         // of the glyphs without an entry
	wide   bool            // two bytes for each glyph
}

// measure reads the widths of the font (ISO 32000-1, 9.2.4 and 9.7.4.3).
func (f *font) measure() {
	f.rest = defaultWidth
	if !f.wide {
		if list := f.Widths(); len(list) > 0 {
			f.widths, f.rest = map[int]float64{}, 0
			for n, w := range list {
				f.widths[f.FirstChar()+n] = w
			}
		}
		return
	}
	descendant := f.V.Key("DescendantFonts").Index(0)
	if f.rest = 1000; !descendant.Key("DW").IsNull() {
		f.rest = descendant.Key("DW").Float64()
	}
	f.widths = map[int]float64{}
	room := maxWidths
	for list, n := descendant.Key("W"), 0; n+1 < list.Len() && room > 0; room-- {
		first, next := list.Index(n).Int64(), list.Index(n+1)
		if next.Kind() == pdf.Array {
			count := min(next.Len(), room)
			for k := range count {
				f.widths[int(first)+k] = next.Index(k).Float64()
			}
			room -= count
			n += 2
			continue
		}
		width := list.Index(n + 2).Float64()
		from, to := int(max(first, 0)), int(min(next.Int64(), math.MaxUint16))
		for code := from; code <= to && room > 0; code++ {
			f.widths[code] = width
			room--
		}
		n += 3
	}
}

// state is the part of the graphics state that concerns text (ISO 32000-1, 9.3).
type state struct {
	ctm                                        matrix
	font                                       *font
	size, charSpace, wordSpace, scale, leading float64
}

// content collects the strings that a content stream shows, in its order. The parser's own
// interpreter adds a glyph after each string, and measures by characters instead of bytes.
type content struct {
	state
	resources pdf.Value
	fonts     map[string]*font
	saved     []state
	tm, line  matrix // matrices of the text and of the start of the line
	runs      *[]run
	room      *int // bytes of text that are left
	depth     int
}

// errLong: a page has more text than one extraction may have.
var errLong = errors.New("the page is too long")

// contentOf returns the strings of a page.
func contentOf(page pdf.Page) []run {
	var runs []run
	room := MaxText
	c := content{
		resources: page.Resources(), runs: &runs, room: &room,
		state: state{ctm: matrix{1, 0, 0, 1, 0, 0}, scale: 1},
	}
	c.read(page.V.Key("Contents"))
	return runs
}

func (c *content) read(stream pdf.Value) {
	if kind := stream.Kind(); kind != pdf.Stream && kind != pdf.Array {
		return // a page without contents
	}
	c.fonts = map[string]*font{}
	pdf.Interpret(stream, func(stack *pdf.Stack, op string) {
		args := make([]pdf.Value, stack.Len())
		for n := len(args) - 1; n >= 0; n-- {
			args[n] = stack.Pop()
		}
		c.do(op, arguments(args))
	})
}

// arguments are the operands of an operator; missing ones are null.
type arguments []pdf.Value

func (a arguments) at(n int) pdf.Value {
	if n < len(a) {
		return a[n]
	}
	return pdf.Value{}
}

func (a arguments) number(n int) float64 { return a.at(n).Float64() }

func (a arguments) matrix() (m matrix) {
	for n := range m {
		m[n] = a.number(n)
	}
	return m
}

func (c *content) do(op string, args arguments) {
	switch op {
	case "q":
		c.saved = append(c.saved, c.state)
	case "Q":
		if n := len(c.saved); n > 0 {
			c.state, c.saved = c.saved[n-1], c.saved[:n-1]
		}
	case "cm":
		c.ctm = args.matrix().times(c.ctm)
	case "Do":
		c.form(c.resources.Key("XObject").Key(args.at(0).Name()))
	case "BT":
		c.tm, c.line = matrix{1, 0, 0, 1, 0, 0}, matrix{1, 0, 0, 1, 0, 0}
	case "Tf":
		c.font, c.size = c.fontNamed(args.at(0).Name()), args.number(1)
	case "Tc":
		c.charSpace = args.number(0)
	case "Tw":
		c.wordSpace = args.number(0)
	case "Tz":
		c.scale = args.number(0) / 100
	case "TL":
		c.leading = args.number(0)
	default:
		c.text(op, args)
	}
}

// text takes the operators that move in the text or show some.
func (c *content) text(op string, args arguments) {
	switch op {
	case "Td":
		c.move(args.number(0), args.number(1))
	case "TD":
		c.leading = -args.number(1)
		c.move(args.number(0), args.number(1))
	case "Tm":
		c.tm, c.line = args.matrix(), args.matrix()
	case "T*":
		c.move(0, -c.leading)
	case "Tj":
		c.show(args.at(0).RawString())
	case "'":
		c.move(0, -c.leading)
		c.show(args.at(0).RawString())
	case "\"":
		c.wordSpace, c.charSpace = args.number(0), args.number(1)
		c.move(0, -c.leading)
		c.show(args.at(2).RawString())
	case "TJ":
		list := args.at(0)
		for n := range list.Len() {
			if v := list.Index(n); v.Kind() == pdf.String {
				c.show(v.RawString())
			} else {
				c.tm = moved(-v.Float64()/1000*c.size*c.scale, 0).times(c.tm)
			}
		}
	}
}

func (c *content) move(x, y float64) {
	c.line = moved(x, y).times(c.line)
	c.tm = c.line
}

// form reads the content of a form.
func (c *content) form(form pdf.Value) {
	if form.Key("Subtype").Name() != "Form" || c.depth >= maxForms {
		return
	}
	within := content{resources: form.Key("Resources"), runs: c.runs, room: c.room, state: c.state, depth: c.depth + 1}
	if within.resources.Kind() != pdf.Dict {
		within.resources = c.resources
	}
	if m := form.Key("Matrix"); m.Len() == 6 {
		var own arguments
		for n := range m.Len() {
			own = append(own, m.Index(n))
		}
		within.ctm = own.matrix().times(c.ctm)
	}
	within.read(form)
}

// fontNamed returns a font of the resources, nil if there is none.
func (c *content) fontNamed(name string) *font {
	if f, found := c.fonts[name]; found {
		return f
	}
	var f *font
	if v := c.resources.Key("Font").Key(name); v.Kind() == pdf.Dict {
		f = &font{Font: pdf.Font{V: v}, wide: v.Key("Subtype").Name() == "Type0"}
		f.decode = f.Encoder()
		f.measure()
	}
	c.fonts[name] = f
	return f
}

// show adds a string and moves behind it.
func (c *content) show(raw string) {
	if c.font == nil || raw == "" {
		return
	}
	at := matrix{c.size * c.scale, 0, 0, c.size, 0, 0}.times(c.tm).times(c.ctm)
	c.tm = moved(c.advance(raw), 0).times(c.tm)
	end := c.tm.times(c.ctm)
	text := c.font.decode.Decode(raw)
	if *c.room -= len(text) + 1; *c.room < 0 {
		panic(errLong)
	}
	*c.runs = append(*c.runs, run{
		text: text, x: at[4], y: at[5], end: end[4],
		size: math.Hypot(at[2], at[3]), isMeasured: c.font.widths != nil,
	})
}

// advance returns the length of a string in the units of the text.
func (c *content) advance(raw string) float64 {
	sum, step := 0.0, 1
	if c.font.wide {
		step = 2
	}
	for n := 0; n+step <= len(raw); n += step {
		code := int(raw[n])
		if c.font.wide {
			code = code<<8 | int(raw[n+1])
		}
		width, found := c.font.widths[code]
		if !found {
			width = c.font.rest
		}
		sum += width/1000*c.size + c.charSpace
		if step == 1 && raw[n] == ' ' {
			sum += c.wordSpace
		}
	}
	return sum * c.scale
}
