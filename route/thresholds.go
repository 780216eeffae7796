package route

// When the evidence is enough.
const (
	// admitCoverage and admitRank let a retrieved skill have points: it must hold this
	// share of the request's heavy words and stand this high.
	admitCoverage = 30
	admitRank     = 20

	// strongRetrieve and strongCoverage make retrieval alone a strong fit.
	strongRetrieve = 30
	strongCoverage = 50

	// winnerScore and winnerLead make the first skill a clear winner.
	winnerScore = 30
	winnerLead  = 10
)
