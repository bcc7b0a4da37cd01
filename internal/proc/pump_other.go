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

// pending is not to be had here: drain delivers what has been read.
func (p *pump) pending() int64 { return 0 }

// interrupt makes a read that waits return: on pipes that is by closing.
func (p *pump) interrupt() { _ = p.src.Close() }
