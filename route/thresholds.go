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

	// Retrieval alone is a strong fit with so many points and either this much evidence,
	// or for short requests this share of the best possible answer. The best hits of
	// requests that no skill fits have evidence up to 80 and share up to 35.
	strongRetrieve = 30
	strongEvidence = 92
	strongShare    = 45
	// strongCoverage stands in where a search gives neither evidence nor share.
	strongCoverage = 50

	// winnerScore and winnerLead make the first skill a clear winner. Abstention: recall
	// 15 of 15, precision 15 of 25; 10 of 59 requests that a skill fits are refused (12
	// with a lead of 3, about half with 10: near-copies and skills of one family stand
	// close together), and 39 of the 49 winners are right.
	winnerScore = 30
	winnerLead  = 2
)
