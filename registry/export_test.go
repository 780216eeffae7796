package registry

import "github.com/fsnotify/fsnotify"

// Notifier is the seam between a watcher and the system.
type Notifier interface{ notifier }

// WithNotifier exchanges the system's watcher for one of a test.
func (o WatchOptions) WithNotifier(make func() (Notifier, error)) WatchOptions {
	o.notifier = func() (notifier, error) { return make() }
	return o
}

// SystemNotifier is the system's watcher.
func SystemNotifier() (Notifier, error) { return newSystemNotifier() }

// NotifierEvent is what a Notifier sends.
type NotifierEvent = fsnotify.Event
