// Package search finds a skill by what is inside it.
//
// What belongs here: an index in memory over the skills of a Snapshot (BM25F over
// weighted fields, integer scores), the tokens it is made of, the lines and snippets
// of a hit, and a scan of the text that needs no index. What may not come in:
// anything that decides what is loaded or changes what is installed; the rooms
// route, catalog and toolset. A result is a suggestion with its evidence.
//
// Which file to open:
//
//	query.go      what a caller asks and gets: Query, Filter, View, Result, Hit, Match
//	options.go    fields, weights, k1, b: the parameters of the ranking
//	index.go      Open, Update, Stats, Close: scopes and generations
//	update.go     what is new, changed and gone; skills added and removed one by one
//	build.go      Warm, the lazy build, merging, changed references
//	disk.go       the index between two starts
//	search.go     Search and Scan: views and filters, the best hits, exact names
//	document.go   which text of a skill is indexed, and in which field
//	guidance.go   what a skill says about its own use: for what, for what not
//	tokens.go     text to words; stem.go, han.go and stopwords.txt beside it
//	also.go       what words of a request mean in the words of skills (also.txt)
//	segment.go    postings on the way out: lists, blocks, the cursor
//	builder.go    postings on the way in: building, packing, merging
//	maxscore.go   the walk over the lists, which skips what cannot be a hit
//	names.go      skills that a query calls by their name
//	view.go       which skills a request may see
//	score.go      the formula: which words count, what each is worth, what a document gets
//	evidence.go   coverage, evidence, strength: what a score is worth
//	plan.go       a query against one generation: its lists, what hits are judged by
//	parse.go      what a query's text means: words, "phrases", -exclusions, exact names
//	common.go     how rare a word is among the usual skills (common.txt): the measure of evidence
//	snippet.go    the lines that show why a skill was found
//	embedder.go   texts to vectors, over HTTP; the breaker
//	vectors.go    which texts have vectors, and where they are kept
//	hybrid.go     ranks by words and by vectors made one
//	texts.go      plain BM25 over whole texts; mastra.go is that dialect's search with it
//	scan.go       the fallback that needs no index
//	README.md     the measured figures and how to measure them again
package search
