// Package skill is described in doc.go by its owner.
package skill
