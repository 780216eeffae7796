// Package gate is described in doc.go by its owner.
package gate
