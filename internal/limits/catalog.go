package limits

// Bounds of what a catalog shows of one skill and of one render, in code points
// where nothing else is said.
const (
	CatalogName         = 128  // longer names are not shown; the skill still loads
	CatalogDescription  = 1024 // of the description
	CatalogShown        = 1536 // of the description and when_to_use together
	CatalogShort        = 40   // characters (clusters) of the short form
	CatalogMedium       = 160  // characters of the medium form
	CatalogLeast        = 12   // characters below which a cut description is not shown
	CatalogBack         = 20   // characters a cut moves back to a word's border
	CatalogBudget       = 5000 // tokens of the default budget at most
	CatalogReserve      = 400  // tokens kept for the tail at most
	CatalogHints        = 8    // lines of the tail in mode stable
	CatalogTopK         = 24   // entries of the tail in mode routed
	CatalogRanked       = 20   // skills of each of the ranks recent and pinned
	CatalogMany         = 20   // listed skills above which the model is given a search
	CatalogChanges      = 20   // lines that tell changed skills to a conversation
	CatalogChangeTokens = 300
	CatalogLines        = 200_000
	CatalogResults      = 16
)
