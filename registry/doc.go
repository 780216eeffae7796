// Package registry is described in doc.go by its owner.
package registry
