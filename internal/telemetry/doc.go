// Package telemetry carries what an engine shows of its turns to whoever collects it:
// spans and figures by OTLP over HTTP in its JSON form, and figures in the text form that
// scrapers read.
//
// What belongs here: reading the usual OTEL_ variables, the two forms, sending and
// bounding it. What may not come in: what is counted (agent), any text of a request, any
// global state of the OpenTelemetry library: its own error handler prints, so no error is
// ever handed to it.
//
// Nothing is opened, and nothing is paid, where no variable names an endpoint and nobody
// scrapes. What cannot be delivered is dropped; that is told once.
//
// Which file to open:
//
//   - telemetry.go: what is set up by which variable, and its end
//   - send.go: one request; spans.go, figures.go: the OTLP documents
//   - scrape.go: the text form
package telemetry
