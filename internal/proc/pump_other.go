//go:build !unix

package proc

// fill reads once.
func (p *pump) fill(buf []byte) (int, error) {
	n, err := p.src.Read(buf)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read += int64(n)
	return n, err
}

// pending is unknown here: drain delivers the data that was read.
func (p *pump) pending() int64 { return 0 }

// interrupt makes a blocked read return; on pipes it closes them.
func (p *pump) interrupt() { _ = p.src.Close() }
