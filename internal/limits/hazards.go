package limits

import "time"

// Hazards bounds one look for dangers in the files of a skill. What lies beyond is
// named and makes the result a partial one. The zero value of each field means the
// default of DefaultHazards.
type Hazards struct {
	Entries int           // files and directories
	Depth   int           // directory levels
	Bytes   int64         // of all files
	File    int64         // of one file
	Time    time.Duration // for all
	Nested  int           // archives inside archives
	Members int           // of one archive
	Packed  int64         // bytes out of one archive
	Ratio   int64         // bytes out for one byte in, over 1 MiB
}

// DefaultHazards returns the bounds of the scanner.
func DefaultHazards() Hazards {
	return Hazards{
		Entries: 10_000, Depth: 64, Bytes: 64 << 20, File: 16 << 20, Time: 10 * time.Second,
		Nested: 3, Members: 1000, Packed: 25 << 20, Ratio: 100,
	}
}

// WithDefaults returns h with every zero field replaced by the default.
func (h Hazards) WithDefaults() Hazards {
	d := DefaultHazards()
	pick(&h.Entries, d.Entries)
	pick(&h.Depth, d.Depth)
	pick(&h.Bytes, d.Bytes)
	pick(&h.File, d.File)
	pick(&h.Time, d.Time)
	pick(&h.Nested, d.Nested)
	pick(&h.Members, d.Members)
	pick(&h.Packed, d.Packed)
	pick(&h.Ratio, d.Ratio)
	return h
}
