package registry

import (
	"sync"

	"github.com/deftskills/deft/skill"
)

// reports remembers what has been reported, so that a broken file is complained about
// once a content version and not once a check.
type reports struct {
	mu   sync.Mutex
	seen map[reportKey]bool
}

type reportKey struct {
	code, file, message string
	line                int
	version             skill.Digest
}

// maxReports bounds what is remembered; beyond it everything may be said once more.
const maxReports = 10_000

// report tells the host one finding, once.
func (r *Registry) report(d skill.Diagnostic) { r.reportOf(d, "") }

func (r *Registry) reportOf(d skill.Diagnostic, version skill.Digest) {
	if r.c.Report == nil {
		return
	}
	k := reportKey{d.Code, d.File, d.Message, d.Line, version}
	p := &r.reported
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen[k] {
		return
	}
	if p.seen == nil || len(p.seen) >= maxReports {
		p.seen = map[reportKey]bool{}
	}
	p.seen[k] = true
	r.c.Report(d)
}

// reportAll tells the host what is new in a Snapshot.
func (r *Registry) reportAll(s *Snapshot) {
	if r.c.Report == nil {
		return
	}
	for _, d := range s.Diagnostics {
		r.report(d)
	}
	for _, rec := range s.All {
		for _, d := range rec.Skill.Diagnostics {
			r.reportOf(d, rec.Skill.Digest)
		}
	}
}
