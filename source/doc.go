// Package source finds skills: it knows the places where agents keep them and
// reads each SKILL.md there, once, without ever being led out of the place.
//
// What belongs here: the root table and the walk-up, path forms and globs, the walk
// of a directory, link rules, stamps, the address of a skill, opening and loading
// the files of one skill, sources over embedded trees and over skills given in code,
// and decorators that change one property of a source.
//
// What may not come in: any decision between two skills (package registry), any
// text for a model, the process's working directory, environment or clock (they are
// arguments), and any write.
//
// Promises that every Source keeps, whatever lies on the disk: entries sorted by
// Location; one bad skill costs one skill and is listed as invalid; an unreadable
// root is a diagnostic; nothing below a skill is read ahead; FIFOs, sockets and
// devices are never read; an Entry never changes.
//
// To change …, open …:
//
//	a built-in root or its priority       roots.go, the table; of dialect minimax roots_minimax.go
//	how a dialect walks a root            rules.go, the table
//	a client's directory                  clients.tsv
//	which sources may bring what runs     policy.go
//	how far the walk-up goes              env.go
//	what --source accepts                 expand.go, glob.go
//	path forms in a file system           fsforms.go
//	project roots of touched packages     packages.go
//	when two sources are the same         identity.go
//	which names the walk skips, depth     walk.go
//	which file is the skill file          pick.go
//	what a link may do                    links.go
//	how a file is opened                  tree_unix.go, tree_other.go; after the scan confine.go
//	reading, stamps, reuse                read.go
//	text and resources of one skill       load.go, text.go
//	what a plugin's manifest may say      manifest.go
//	the skills of one plugin              plugin.go, plugin_form.go; its command files: commands.go
//	installed plugins and their versions  installed.go
//	what of a listing outlives a process  index.go
//	tree digests, what trust is bound to  tree.go
//	places that explain looks at          look.go, places.go
//	skills given in code                  data.go
//	stored versions of skills             versions.go, composite.go
//	a diagnostic's level or fix           codes.go
package source
