// Package book knows which requests of a client are not answered, in the order in
// which they came, and what each of them waits for: an input, a turn, or only its
// own end. A protocol decides what to answer, and when; that each request is
// answered once, also where its turn's end, a cancel and the end of everything
// come together, is decided here.
//
//	Add ─► open ─► Answer: taken out by whoever answers it
//	        ├ Cancel: nobody wants it any more; how it is answered, the protocol says
//	        ├ Step:   an event says what became of its input (C19)
//	        └ Close:  everything ends; what is left is answered by the caller
package pending
