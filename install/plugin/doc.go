// Package plugin reads what plugins carry, out of a tree of files that was fetched, and
// the lists in which marketplaces offer them.
//
// What belongs here: which parts a plugin has and how each is named and shown to a person,
// what agreement to a part is bound to, the forms of marketplaces. What may not come in:
// the disk, the network, starting anything: a hook or server of a plugin is text here.
//
// To change what a plugin carries, open plugin.go; the parts that a person has to agree
// to, parts.go; how a marketplace is written, market.go. What a manifest may say is
// package source's.
package plugin
