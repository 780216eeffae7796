// Package source is described in doc.go by its owner.
package source
