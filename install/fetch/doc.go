// Package fetch gets what a source names, as bytes: a commit of a git repository, an
// archive or a file over https, skills that a host lists, a
// package of npm.
//
// What belongs here: the ways to fetch, the addresses that may be dialled, and the
// bounds of each. What may not come in: what a skill is, choosing, and writing anywhere
// but a private temporary folder and the cache of downloads. Nothing fetched is run: no
// hook, filter, submodule or script of a repository, since nothing is ever checked out.
//
// Repositories are read with the git program where there is one of version 2.30 or later,
// else without one, by the same steps; tests run through both.
//
// To change how git is called open git.go; how objects become files, tree.go. Without the
// program: the steps are in without.go, servers in wire.go and ssh.go, what a server sends
// in pack.go, repositories of this machine in folder.go. The rules of https: http.go; what
// is dialled and through which proxy, dial.go and proxy.go; what is kept of earlier
// fetches, cache.go. Indexes of skills: wellknown.go. Signatures: signature.go. Packages of
// npm: npm.go, its settings npmrc.go, versions and ranges semver.go.
package fetch
