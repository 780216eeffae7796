module github.com/deftskills/deft/bench

go 1.26.0

require github.com/deftskills/deft v0.0.0

require (
	github.com/bmatcuk/doublestar/v4 v4.10.4 // indirect
	github.com/fsnotify/fsnotify v1.10.1 // indirect
	github.com/yuin/goldmark v1.8.7 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.44.0 // indirect
	google.golang.org/adk/v2 v2.0.0
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/deftskills/deft => ../
