//go:build !unix

package main

// onStatusSignal does nothing: there is no SIGUSR1.
func onStatusSignal(func()) (stop func()) { return func() {} }
