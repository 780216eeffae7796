package route

// When the evidence is enough. The figures are those of the tuning data (15 requests
// that no skill fits, 59 that one skill fits, 2,408 skills); README.md has the
// alternatives.
const (
	// A retrieved skill has points when it stands this high and either holds this share
	// of the request's heavy words or has this much evidence. Coverage alone would shut
	// out a skill that holds the one rare word of the request.
	admitRank     = 20
	admitCoverage = 30
	admitEvidence = 60

	// Retrieval alone is a strong fit with so many points, and evidence and half the share
	// of the best possible answer that are this much together: a long request is rarely
	// answered in full, a short one gives little evidence. Evidence below the least is a
	// word or two of any conversation. The best hits of requests that no skill fits have
	// up to 100 together, but one, whose words mean something else.
	strongRetrieve = 30
	strongTogether = 110
	leastEvidence  = 50
	// strongCoverage stands in where a search gives neither evidence nor share.
	strongCoverage = 50

	// winnerScore and winnerLead make the first skill a clear winner. Abstention: recall
	// 14 of 15, precision 14 of 23; 9 of 59 requests that a skill fits are refused (a
	// third with a lead of 10: near-copies and skills of one family stand close together),
	// and 43 of the 50 winners are right.
	winnerScore = 30
	winnerLead  = 2
)
