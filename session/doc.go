// Package session is described in doc.go by its owner.
package session
