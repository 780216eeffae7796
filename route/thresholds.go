package route

// When the evidence is enough.
const (
	// A retrieved skill has points when it stands this high and either holds this share
	// of the request's heavy words or has this much evidence.
	admitRank     = 20
	admitCoverage = 30
	admitEvidence = 60

	// Retrieval alone is a strong fit with so many points and either this much evidence,
	// or for short requests this share of the best possible answer.
	strongRetrieve = 30
	strongEvidence = 92
	strongShare    = 45
	// strongCoverage stands in where a search gives neither evidence nor share.
	strongCoverage = 50

	// winnerScore and winnerLead make the first skill a clear winner.
	winnerScore = 30
	winnerLead  = 2
)
