// Command topic makes a topic on a broker that a demonstration was given:
//
//	go run ./examples/watermarks/topic 127.0.0.1:9092 sensors 2
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "topic:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want BROKERS NAME PARTITIONS")
	}
	partitions, err := strconv.ParseInt(args[2], 10, 32)
	if err != nil {
		return err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(args[0], ",")...), kgo.DisableClientMetrics())
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	_, err = kadm.NewClient(cl).CreateTopic(ctx, int32(partitions), -1, nil, args[1])
	return err
}
