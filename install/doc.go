// Package install brings skills in: what a person names as a source, what is fetched
// from there, under which licence, to which place, with a record of where it came from.
//
// What belongs here: sources as text, the plan of an install and its carrying out, lock
// files, what is compared on an update. What may not come in: running anything of what
// was fetched. No hook, script or install command of a package is ever started.
//
// To change how a source is written, open ref.go; which hosts have browser addresses
// and how those read, hosts.go; what a component of a path may be, names.go; what skills
// need of other skills, needs.go; what the scanner's findings come to, findings.go.
package install
