// Package house keeps the shape of the project by tests: which room may import
// which, what the library may weigh, how large a file may grow, who may print,
// what must be documented, and that every command in the documentation runs.
//
// It holds no code but tests. To allow a new import between rooms, or a new
// dependency of the library, edit the tables in rooms_test.go and say why there.
package house
