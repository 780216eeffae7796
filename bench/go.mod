module github.com/deftskills/deft/bench

go 1.26.0

require github.com/deftskills/deft v0.0.0

require google.golang.org/adk/v2 v2.0.0 // indirect

replace github.com/deftskills/deft => ../
