package agent

import "crypto/sha256"

// A model that calls the same tool with the same arguments and gets the same result
// learns nothing from it. It is told after three times in a row; after five the turn
// ends, since it will not stop by itself.
const (
	repeatNote = 3
	repeatStop = 5
)

// repeats counts equal calls with equal results in a row.
type repeats struct {
	last  [32]byte
	count int
}

// add takes one finished call and returns how often it came in a row.
func (r *repeats) add(tool string, args []byte, result string) int {
	h := sha256.New()
	h.Write([]byte(tool))
	h.Write([]byte{0})
	h.Write(args)
	h.Write([]byte{0})
	h.Write([]byte(result))
	sum := [32]byte(h.Sum(nil))
	if sum != r.last {
		r.last, r.count = sum, 0
	}
	r.count++
	return r.count
}
