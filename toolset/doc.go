// Package toolset is described in doc.go by its owner.
package toolset
