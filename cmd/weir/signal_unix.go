//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// onStatusSignal calls f at every SIGUSR1, until the function that it returns is called.
func onStatusSignal(f func()) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGUSR1)
	go func() {
		for {
			select {
			case <-signals:
				f()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}
