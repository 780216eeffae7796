// Package httpapi answers over HTTP: whether the process lives and may be sent work,
// what it measures, and the events that start turns.
//
// What belongs here: the shape of requests and answers, who may ask, the bounds of what
// is read, and how a refusal reads. What may not come in: rules about skills, routing or
// permission, and running turns: an event becomes a row in the queue, whoever works on it
// later.
//
// Promises, each held by a test:
//
//   - A request is refused before more of it is read than it may have.
//   - The body of an event is data: it is read strictly or kept as it is, never expanded.
//   - A signature is compared in constant time, counts for five minutes and once, in all
//     processes on the database.
//   - No answer holds a secret, a stack, SQL or a path; every refusal is a problem document
//     with a code and the request's id, which the log has too.
//
// To change …, open …:
//
//	what is served where       server.go
//	what every request passes  middleware.go; rates: rate.go
//	how a refusal reads        problem.go
//	webhooks and signals       hooks.go, signals.go; signatures: signature.go
//	life, readiness, figures   health.go
package httpapi
